./wxtel
encode
-
