./relief
tile
3
2
-
