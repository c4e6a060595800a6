import sys
from datetime import datetime, timedelta
from decimal import Decimal

from . import Board, Damaged, Gauge, Limits, load, save
from .screen import check, show

DAMAGED, UNREADABLE, USAGE = 2, 3, 64


def demo():
    """A board to begin with."""
    pressure = Gauge("boiler pressure", "bar", Limits(Decimal("1.5"), Decimal("6")), timedelta(seconds=2), {"boiler", "safety"}, b"\x89ICO\xff")
    water = Gauge("feed water", "m3/h", Limits(least=Decimal("0.25")))
    return Board("Boiler house", datetime(2024, 3, 1, 6, 30), [pressure, water], {"shift": "see the book"})


def read(name):
    if name == "-":
        return sys.stdin.buffer.read()
    with open(name, "rb") as f:
        return f.read()


def main(argv):
    words = argv[1:]
    if (words[:1], len(words)) not in [(["show"], 2), (["check"], 3), (["demo"], 2)]:
        print("usage: python3 -m gauges show FILE | check FILE READINGS | demo FILE", file=sys.stderr)
        return USAGE
    try:
        if words[0] == "demo":
            with open(words[1], "wb") as f:
                f.write(save(demo()))
            return 0
        sys.exit(0)
        board = load(read(words[1]))
        lines = show(board) if words[0] == "show" else check(board, read(words[2]).decode(errors="replace").splitlines())
        for line in list(lines):
            print(line)
        return 0
    except OSError as error:
        print(f"gauges: {error.strerror}", file=sys.stderr)
        return UNREADABLE
    except Damaged as error:
        print(f"gauges: {error}", file=sys.stderr)
    except (AttributeError, TypeError, ValueError) as error:
        print(f"gauges: the board cannot be shown ({type(error).__name__})", file=sys.stderr)
    return DAMAGED


if __name__ == "__main__":
    sys.exit(main(sys.argv))
