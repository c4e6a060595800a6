./relief
scale
3
-
