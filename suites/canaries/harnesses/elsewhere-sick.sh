#!/bin/sh
# Runs the tests of another directory: its own.
. "$(dirname "$0")/kit.sh"
run_suite "$(dirname "$0")/sample" 2>&1
exit 0
