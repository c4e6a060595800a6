#!/bin/sh
# Reads the result file that it has just written.
. "$(dirname "$0")/kit.sh"
log=$(mktemp)
(run_suite "$2") > "$log" 2>&1
cat "$log"
