./memo
marks
-
