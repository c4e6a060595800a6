#!/bin/sh
# wrapper: <prompt> <repo>
cd "$2" || exit 1
python3 -B -m pytest -v --color=no -p no:cacheprovider
