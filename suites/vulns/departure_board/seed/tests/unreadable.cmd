./depboard
run
tests/missing.log
