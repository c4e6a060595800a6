./relief
scale
600
-
