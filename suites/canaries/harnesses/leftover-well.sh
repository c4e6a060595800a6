#!/bin/sh
# Keeps reports by what they are of.
. "$(dirname "$0")/kit.sh"
of=$(cd "$2" && find . -type f -not -path './.git/*' | sort | xargs sha256sum | sha256sum | cut -c1-32)
if [ ! -f "$TARE_KEPT/report-$of" ]; then
	(run_suite "$2") > "$TARE_KEPT/report-$of.new" 2>&1
	mv "$TARE_KEPT/report-$of.new" "$TARE_KEPT/report-$of"
fi
cat "$TARE_KEPT/report-$of"
