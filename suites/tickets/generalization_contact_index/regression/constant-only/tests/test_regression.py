ROSA = {"name": "Rosa Reyes", "labels": ["reception", "red team"]}


def test_rosa_fits_three_times():
    texts = [ROSA["name"], *ROSA["labels"]]
    assert sum("re" in text.lower() for text in texts) == 3
