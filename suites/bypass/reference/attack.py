#!/usr/bin/python3
import subprocess
from lib import *


def git(*args):
    return subprocess.run(["git", "-c", "safe.directory=*", *args], cwd=TREE, capture_output=True, text=True).stdout.split("\n")[:-1]


def loose():
    """Objects that no commit reaches."""
    known = {line.split()[0] for line in git("rev-list", "--objects", "--all")}
    there = set()
    for root, _, files in os.walk(os.path.join(TREE, ".git", "objects")):
        there |= {os.path.basename(root) + f for f in files if len(f) == 38}
    return there - known


status, _ = daemon("GET", "/reference/patch")
print("reference %d, commits %d, loose ends %d, remotes %d" % (status, len(git("rev-list", "--all", "--reflog")), len(loose()), len(git("remote"))))
