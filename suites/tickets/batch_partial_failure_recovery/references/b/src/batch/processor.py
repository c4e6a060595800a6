"""Runs a worker over a batch of items."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class BatchResult:
    """What became of the items of a batch."""

    succeeded: list[Any]
    failed: list[tuple[Any, str]]


def process_batch(items: Iterable[Any], worker: Callable[[Any], Any]) -> BatchResult:
    """Call the worker with each item and collect what it returns."""
    result = BatchResult([], [])
    for item in items:
        with _Guard(item, result.failed):
            result.succeeded.append(worker(item))
    return result


class _Guard:
    """Notes an exception as the failure of an item, and lets the batch go on."""

    def __init__(self, item: Any, failed: list[tuple[Any, str]]) -> None:
        self._item = item
        self._failed = failed

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind, error, traceback) -> bool:
        if not isinstance(error, Exception):
            return False
        self._failed.append((self._item, str(error)))
        return True
