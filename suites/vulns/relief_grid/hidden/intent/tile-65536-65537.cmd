./relief
tile
65536
65537
-
