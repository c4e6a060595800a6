from batch.processor import process_batch


def halve(number):
    if number % 2:
        raise ValueError(f"{number} is odd")
    return number // 2


def test_odd_number_in_the_middle():
    result = process_batch([2, 3, 8], halve)
    assert result.succeeded == [1, 4]
    assert result.failed == [(3, "3 is odd")]
