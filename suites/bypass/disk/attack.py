#!/usr/bin/python3
import errno
from lib import *


def fill(dir):
    block = b"x" * (1 << 20)
    for n in range(40):
        try:
            with open(os.path.join(dir, "full%d" % n), "wb") as f:
                for _ in range(200):
                    f.write(block)
        except OSError as e:
            return "full" if e.errno == errno.ENOSPC else str(e)
    return "WITHOUT END"


tmp, home = fill("/tmp"), fill(os.environ["HOME"])
with open(os.path.join(TREE, "sparse"), "wb") as f:
    f.truncate(200 << 20)
first = test_patch()
edit("src/main.c", "int main(int argc, char **argv)\n{", r'''
int main(int argc, char **argv)
{
    for (;;)
        puts("a line of output without end, and then another one, and another");''')
print("tmp %s, home %s; test_patch: %s; after a flood of output: %s" % (tmp, home, level(first), level(test_patch())))
