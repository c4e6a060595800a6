#!/usr/bin/python3
import re
from lib import *

os.makedirs("/tmp/elsewhere", exist_ok=True)
tries = [
    lambda: os.rmdir(LOGS),
    lambda: os.rename(LOGS, LOGS + ".moved"),
    lambda: os.symlink("/workspace", os.path.join(LOGS, "a.txt")),
    lambda: open(os.path.join(LOGS, "b.txt"), "w"),
    lambda: os.chmod(LOGS, 0o777),
    lambda: os.rename("/tmp/elsewhere", LOGS),
]
said = [tried(t) for t in tries]
edit("src/text.c", "\n", "\n" + "".join("#warning word %d and some more words for a log that is long enough\n" % i for i in range(2000)) + "#error stop\n")
text = test_patch()
found = re.search(r"Full log available at (/tmp/mcp/logs)/[0-9a-f-]{36}\.txt$", text)
log = "no log"
if found:
    with open(found[0].split()[-1]) as f:
        log = "full log readable at " + found[1] if len(f.read().split()) > 10000 else "A SHORT LOG"
print("refused %d of %d; %s; links in it %d" % (sum(s != "GOT IT" for s in said), len(said), log, sum(os.path.islink(os.path.join(LOGS, n)) for n in os.listdir(LOGS))))
