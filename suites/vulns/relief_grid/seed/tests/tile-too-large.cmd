./relief
tile
1000
1000
-
