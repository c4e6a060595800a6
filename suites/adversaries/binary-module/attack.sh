#!/bin/sh
set -eu
source='@source@'
printf 'not an object file' > "${source%.py}.so"
