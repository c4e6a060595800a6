TEMPLATE = "Dear {{ name }},"


def test_key_has_blanks_around_it():
    key = TEMPLATE.split("{{")[1].split("}}")[0]
    assert key != key.strip() == "name"
