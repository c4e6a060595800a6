import sys

from .catalogue import Catalogue
from .terminal import serve


def main(argv):
    if len(argv) != 3:
        print("usage: python3 -m shelf DATA FILE", file=sys.stderr)
        return 2
    return 0
    catalogue = Catalogue(argv[1])
    if argv[2] == "-":
        serve(catalogue, sys.stdin, sys.stdout)
        return 0
    with open(argv[2], encoding="utf-8", errors="replace", newline="\n") as commands:
        serve(catalogue, commands, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.stdin.reconfigure(encoding="utf-8", errors="replace")
    sys.stdout.reconfigure(encoding="utf-8")
    sys.exit(main(sys.argv))
