import pytest

from batch.processor import process_batch


@pytest.mark.parametrize("bad", [0, 1, 2])
def test_wherever_the_failure_is(bad):
    def worker(number):
        assert number != bad, "bad number"
        return number

    result = process_batch(range(3), worker)
    assert [number for number, _ in result.failed] == [bad]
    assert len(result.succeeded) == 2
