import sys

from .room import Room
from .server import serve


def main(argv):
    if len(argv) != 3:
        print("usage: python3 -m docroom ROOM FILE", file=sys.stderr)
        return 2
    room = Room(argv[1])
    if argv[2] == "-":
        serve(room, sys.stdin.buffer, sys.stdout.buffer)
        return 0
    with open(argv[2], "rb") as requests:
        serve(room, requests, sys.stdout.buffer)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
