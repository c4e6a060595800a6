./relief
tile
4194304
1
-
