./wxtel
names
-
