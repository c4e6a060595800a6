./relief
scale
4294967295
-
