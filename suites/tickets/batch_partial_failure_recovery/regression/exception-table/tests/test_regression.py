from batch.processor import process_batch


def test_there_is_something_to_catch():
    assert len(process_batch.__code__.co_exceptiontable) > 0
