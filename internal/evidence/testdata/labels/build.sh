#!/bin/sh
set -e
gcc -O0 -g -fsanitize=address -fno-omit-frame-pointer -o labels main.c labels.c
