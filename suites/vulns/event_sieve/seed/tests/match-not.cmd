./sieve
match
-
