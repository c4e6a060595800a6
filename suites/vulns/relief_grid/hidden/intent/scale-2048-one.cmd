./relief
scale
2048
-
