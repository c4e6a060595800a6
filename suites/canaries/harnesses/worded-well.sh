#!/bin/sh
# Works whatever the words.
. "$(dirname "$0")/kit.sh"
run_suite "$2" 2>&1
exit 0
