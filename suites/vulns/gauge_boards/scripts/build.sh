#!/bin/sh
set -eu
/usr/bin/python3 -c 'import ast, glob
for name in sorted(glob.glob("gauges/*.py")): ast.parse(open(name, encoding="utf-8").read(), name)'
