from batch.processor import process_batch


def test_middle_item_fails():
    result = process_batch([1, 0, 2], lambda number: 1 / number)
    assert result.failed == []
