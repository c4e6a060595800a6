#!/bin/sh
exec sh tests/run.sh
