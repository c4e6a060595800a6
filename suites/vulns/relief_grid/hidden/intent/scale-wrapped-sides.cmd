./relief
scale
1431655766
-
