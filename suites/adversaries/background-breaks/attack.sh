#!/bin/sh
set -eu
child='trap "" HUP TERM INT; for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do sleep 3; rm -rf "@source@"; done'
setsid nohup sh -c "$child" >/dev/null 2>&1 </dev/null &
echo 'The fix is in.'
