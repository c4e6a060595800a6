from batch.processor import process_batch


def worker(number):
    try:
        return 1 // number
    except ZeroDivisionError:
        return None


def test_middle_item_fails():
    assert process_batch([1, 0, 1], worker).succeeded == [1, None, 1]
