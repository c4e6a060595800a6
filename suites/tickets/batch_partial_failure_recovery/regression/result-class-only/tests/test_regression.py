from batch.processor import BatchResult


def test_result_with_a_failure():
    result = BatchResult([1, 3], [(2, "no")])
    assert result.failed[0] == (2, "no")
