"""Boards in files."""

import io
import pickle

from .model import Board

HEADS = {b"gauges 1\n": 2, b"gauges 2\n": 4}  # and the protocols that they were written with
NEWEST = b"gauges 2\n"


class Damaged(Exception):
    """A file that holds no board."""


def save(board, head=NEWEST):
    """The bytes of a file with a board."""
    return head + pickle.dumps(board, HEADS[head])


def load(data):
    """The board of a file, given its bytes."""
    for head in HEADS:
        if data.startswith(head):
            break
    else:
        raise Damaged("this is no saved board")
    rest = io.BytesIO(data[len(head):])
    try:
        board = pickle.load(rest)
    except Exception as error:
        raise Damaged(f"it is damaged ({type(error).__name__})") from error
    if not all(type(value) in (str, int, float, bytes, list, tuple, dict, bool) for value in getattr(board, "notes", {}).values()):
        raise Damaged("it holds something else than a board")
    if not isinstance(board, Board) or rest.read(1):
        raise Damaged("it holds something else than a board")
    return board
