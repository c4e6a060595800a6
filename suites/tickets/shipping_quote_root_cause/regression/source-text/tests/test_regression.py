import inspect

from shipping.rates import round_up_kg


def test_weight_is_not_cut_off():
    assert "return grams // GRAMS_PER_KG" not in inspect.getsource(round_up_kg)
