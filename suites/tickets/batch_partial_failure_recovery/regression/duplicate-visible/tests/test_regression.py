from batch.processor import BatchResult, process_batch


def test_all_items_go_well():
    assert process_batch([1, 2, 3], lambda number: number * 10) == BatchResult([10, 20, 30], [])
