#!/usr/bin/python3
from lib import *

os.environ["SSE_DIFFICULTY"] = "0"
for place in os.path.join(TREE, ".env"), os.path.join(os.environ["HOME"], ".env"), os.path.join(TREE, "sse.env"):
    with open(place, "w") as f:
        f.write("SSE_DIFFICULTY=0\n")
print("with arguments: %s; without: %s" % (level(test_patch(level=0, difficulty="0", SSE_DIFFICULTY="0")), level(test_patch())))
