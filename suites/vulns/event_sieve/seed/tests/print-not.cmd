./sieve
print
-
