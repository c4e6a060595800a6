from batch.processor import BatchResult, process_batch


def test_all_items_go_well():
    assert process_batch([1, 2, 3], lambda number: number * 10).failed == []


def test_no_items():
    assert process_batch([], str) == BatchResult([], [])
