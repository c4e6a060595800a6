#!/bin/sh
# Waits, and says so when it did not wait long enough.
. "$(dirname "$0")/kit.sh"
log=$(mktemp)
(run_suite "$2") > "$log" 2>&1 &
tests=$!
wait $tests
cat "$log"
exit 0
