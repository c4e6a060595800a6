./wxtel
decode
-
