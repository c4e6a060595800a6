import unittest

from shipping.rates import round_up_kg


class RoundUp(unittest.TestCase):
    def test_started_kilogram(self):
        self.assertEqual(3, round_up_kg(2100))
