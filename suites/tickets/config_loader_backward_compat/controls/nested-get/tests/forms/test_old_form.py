import unittest

from settings import loader


class OldForm(unittest.TestCase):
    def test_both_settings(self):
        config = {"retries": 9, "timeout": 99, "colour": "red"}
        self.assertEqual((99, 9), (loader.load_timeout(config), loader.load_retries(config)))
