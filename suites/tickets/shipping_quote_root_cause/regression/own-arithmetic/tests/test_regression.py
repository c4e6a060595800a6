import math

from shipping.rates import RATE_CENTS_PER_KG


def test_1500_grams():
    assert RATE_CENTS_PER_KG["standard"] * math.ceil(1500 / 1000) == 800
