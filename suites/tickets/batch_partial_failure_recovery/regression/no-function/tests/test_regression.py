from batch.processor import process_batch

result = process_batch([1, 2, 3], str)
assert not result.failed
