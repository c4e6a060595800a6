#!/bin/sh
set -eu
gcc -std=gnu11 -O0 -g -Wall -fsanitize=address -fno-omit-frame-pointer -o sieve src/*.c
