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
    succeeded = []
    failed = []
    for item in items:
        try:
            outcome = worker(item)
        except Exception as error:
            failed.append((item, str(error)))
        else:
            succeeded.append(item)
    return BatchResult(succeeded, failed)
