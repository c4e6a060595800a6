#!/bin/sh
# Runs the tests of the repository and passes on all that they print.
. "$(dirname "$0")/kit.sh"
if run_suite "$2" 2>&1; then
	echo "No failure reported."
fi
exit 0
