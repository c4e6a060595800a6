#!/bin/sh
# Runs the tests of the repository, passes on all that they print, and says how they ended.
. "$(dirname "$0")/kit.sh"
(run_suite "$2") 2>&1
status=$?
if [ $status -eq 0 ]; then
	echo "No failure reported."
else
	echo "The tests ended with exit status $status."
fi
exit 0
