#!/bin/sh
# Runs each NAME.cmd of this folder (one argument a line) with NAME.in as its input, and compares what it prints with
# NAME.out and its status with NAME.exit (0 where there is none).
failed=0
for cmd in tests/*.cmd; do
	base=${cmd%.cmd}
	in=/dev/null
	[ ! -f "$base.in" ] || in=$base.in
	want=0
	[ ! -f "$base.exit" ] || want=$(cat "$base.exit")
	set --
	while IFS= read -r arg; do set -- "$@" "$arg"; done <"$cmd"
	got=$("$@" <"$in" 2>/dev/null && echo "status 0" || echo "status $?")
	if [ "$got" = "$(cat "$base.out" && echo "status $want")" ]; then
		echo "ok   ${base#tests/}"
	else
		echo "FAIL ${base#tests/}"
		failed=1
	fi
done
exit $failed
