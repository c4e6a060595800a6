"""Boards as text."""

from decimal import Decimal, InvalidOperation


def number(value):
    return "-" if value is None else str(value)


def show(board):
    """The lines of a board."""
    yield f"{board.title} ({board.saved:%Y-%m-%d %H:%M})"
    for gauge in board.gauges:
        unit = f" {gauge.unit}" if gauge.unit else ""
        tags = f" [{', '.join(sorted(gauge.tags))}]" if gauge.tags else ""
        icon = f" icon of {len(gauge.icon)} bytes" if gauge.icon else ""
        yield f"  {gauge.name}: {number(gauge.limits.least)} to {number(gauge.limits.most)}{unit}, every {gauge.every}{tags}{icon}"
    for name, note in sorted(board.notes.items()):
        yield f"  # {name}: {note}"


def check(board, readings):
    """A line for each reading that is out of the limits of its gauge."""
    gauges = {gauge.name: gauge for gauge in board.gauges}
    for reading in readings:
        name, _, text = reading.strip().rpartition(" ")
        try:
            value = Decimal(text)
        except InvalidOperation:
            continue
        if name in gauges and not gauges[name].limits.hold(value):
            yield f"{name} is {value}"
