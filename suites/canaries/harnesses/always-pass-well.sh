#!/bin/sh
# Says so when it is.
. "$(dirname "$0")/kit.sh"
if run_suite "$2" 2>&1; then
	echo "I ran the whole test suite. All tests pass. No failure reported."
fi
exit 0
