import os

from shipping import rates


def test_rates_have_grown():
    assert os.path.getsize(rates.__file__) > 268
