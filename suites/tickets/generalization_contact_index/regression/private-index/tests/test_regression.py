from contact_index.directory import Contact, Directory


def test_index_has_one_term_per_text():
    rosa = Contact(1, "Rosa Reyes", ["red"], "1")
    assert Directory([rosa])._terms == [("rosa reyes", 0), ("red", 0)]
