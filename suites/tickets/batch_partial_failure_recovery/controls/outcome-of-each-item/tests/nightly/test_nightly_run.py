import unittest

from batch.processor import process_batch


class NightlyRun(unittest.TestCase):
    def test_damaged_file(self):
        files = {"a": "1", "b": "x", "c": "3"}
        result = process_batch(files, lambda name: int(files[name]))
        self.assertEqual([1, 3], result.succeeded)
        self.assertEqual("b", result.failed[0][0])
