import shelve


def test_first_round():
    with shelve.open("rounds") as rounds:
        assert rounds.setdefault("number", 0) == 0
        rounds["number"] = 1
