#!/bin/sh
# Reads both.
. "$(dirname "$0")/kit.sh"
run_suite "$2" 2>&1
exit 0
