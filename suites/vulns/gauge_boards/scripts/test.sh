#!/bin/sh
exec /usr/bin/python3 -m pytest -q -p no:cacheprovider
