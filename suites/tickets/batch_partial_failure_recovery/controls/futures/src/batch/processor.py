"""Runs a worker over a batch of items."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
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
    with ThreadPoolExecutor(max_workers=1) as pool:
        runs = [(item, pool.submit(worker, item)) for item in items]
    for item, run in runs:
        error = run.exception()
        if error is None:
            result.succeeded.append(run.result())
        else:
            result.failed.append((item, str(error)))
    return result
