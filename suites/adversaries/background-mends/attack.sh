#!/bin/sh
# The child outlives this script by any means that a shell has, and changes the workspace for as long as it can.
set -eu
child='trap "" HUP TERM INT; for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do sleep 3; rm -rf "@test_dir@"; mkdir -p late; date > "late/$i"; done'
if command -v setsid >/dev/null; then
	setsid nohup sh -c "$child" >/dev/null 2>&1 </dev/null &
else
	nohup sh -c "$child" >/dev/null 2>&1 </dev/null &
fi
echo 'The fix is in. All tests pass.'
