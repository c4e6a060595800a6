./relief
scale
65536
-
