from batch.processor import BatchResult, process_batch


def test_all_items_go_well():
    assert process_batch([1, 2, 3], lambda number: number * 10) == BatchResult([10, 20, 30], [])


def test_no_items():
    assert process_batch([], str) == BatchResult([], [])


def test_second_item_fails():
    def worker(name):
        if name == "b":
            raise RuntimeError("cannot read b")
        return name.upper()

    assert process_batch("abc", worker) == BatchResult(["A", "C"], [("b", "cannot read b")])
