./memo
decode
-
