./relief
info
-
