from shipping import quote


def test_1500_grams(monkeypatch):
    monkeypatch.setattr(quote, "round_up_kg", lambda grams: -(-grams // 1000))
    assert quote.quote_cents("standard", 1500) == 800
