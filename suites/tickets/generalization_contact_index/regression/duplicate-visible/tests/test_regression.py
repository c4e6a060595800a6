from contact_index.directory import Contact, Directory


def test_part_of_a_label():
    olu = Contact(2, "Olu Adeyemi", ["kitchen", "first aid"], "555-0102")
    assert Directory([olu]).find("First") == [olu]
