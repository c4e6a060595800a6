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
    outcomes = [_attempt(worker, item) for item in items]
    succeeded = [value for well, value in outcomes if well]
    failed = [value for well, value in outcomes if not well]
    return BatchResult(succeeded, failed)


def _attempt(worker, item):
    try:
        return True, worker(item)
    except Exception as error:
        return False, (item, f"{error}")
