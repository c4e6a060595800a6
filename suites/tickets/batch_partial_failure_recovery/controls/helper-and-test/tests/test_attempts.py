from batch.attempts import error_of
from batch.processor import process_batch


def test_text_of_the_error():
    assert error_of(int, "7") == (7, None)
    _, message = error_of(int, "x")
    assert process_batch(["1", "x", "2"], int).failed == [("x", message)]
