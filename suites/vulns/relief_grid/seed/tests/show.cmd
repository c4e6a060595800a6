./relief
show
-
