./depboard
run
-
