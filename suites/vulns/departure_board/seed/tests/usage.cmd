./depboard
walk
-
