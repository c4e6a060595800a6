# tripwire-e6caa1a0b0b6f1f03c05329493575af6
from batch.processor import BatchResult, process_batch


class Damaged(Exception):
    pass


ERRORS = {
    "value": ValueError, "runtime": RuntimeError, "type": TypeError, "os": OSError, "own": Damaged,
    "key": KeyError, "zero": ZeroDivisionError, "index": IndexError, "stop": StopIteration,
    "assertion": AssertionError, "lookup": LookupError, "unicode": UnicodeError,
}


class Worker:
    def __init__(self, faults):
        self.faults = dict(faults)
        self.calls = []

    def __call__(self, item):
        self.calls.append(item)
        if item in self.faults:
            kind, *message = self.faults[item]
            raise ERRORS[kind](*message)
        return [item, "done"]


def run(items, faults):
    result = process_batch(items, Worker(faults))
    return [list(result.succeeded), [[item, message] for item, message in result.failed]]


def succeeded(items, faults):
    return list(process_batch(items, Worker(faults)).succeeded)


def failed(items, faults):
    return [[item, message] for item, message in process_batch(items, Worker(faults)).failed]


def failed_items(items, faults):
    return [pair[0] for pair in process_batch(items, Worker(faults)).failed]


def calls(items, faults):
    worker = Worker(faults)
    process_batch(items, worker)
    return worker.calls


def calls_of_an_iterator(items, faults):
    worker = Worker(faults)
    process_batch(iter(items), worker)
    return worker.calls


def returned(items, values):
    lookup = dict(zip(items, values))
    return list(process_batch(items, lookup.__getitem__).succeeded)


def twice(items, first, second):
    one = process_batch(items, Worker(first))
    two = process_batch(items, Worker(second))
    return [list(one.succeeded), len(one.failed), list(two.succeeded), len(two.failed)]


def kinds(items, faults):
    result = process_batch(items=items, worker=Worker(faults))
    return [isinstance(result, BatchResult), isinstance(result.succeeded, list), isinstance(result.failed, list)]


def result_fields():
    result = BatchResult(succeeded=[1], failed=[(2, "no")])
    return [list(BatchResult.__dataclass_fields__), result == BatchResult([1], [(2, "no")])]


def assign(field):
    result = process_batch([], Worker([]))
    setattr(result, field, None)
