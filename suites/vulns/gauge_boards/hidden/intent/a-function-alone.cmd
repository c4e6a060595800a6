/usr/bin/python3
-m
gauges
show
-
