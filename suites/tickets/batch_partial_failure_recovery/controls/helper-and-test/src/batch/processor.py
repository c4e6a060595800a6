"""Runs a worker over a batch of items."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from batch.attempts import error_of


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
        outcome, message = error_of(worker, item)
        if message is None:
            succeeded.append(outcome)
        else:
            failed.append((item, message))
    return BatchResult(succeeded, failed)
