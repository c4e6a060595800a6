./relief
tile
1431655766
2
-
