./memo
peaks
-
