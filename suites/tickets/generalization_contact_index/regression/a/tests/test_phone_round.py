from contact_index.directory import Contact, Directory


def test_name_and_labels_give_one_person():
    rosa = Contact(1, "Rosa Reyes", ["reception", "red team"], "555-0101")
    jan = Contact(2, "Jan Oort", ["red team"], "555-0102")
    assert [person.contact_id for person in Directory([jan, rosa]).find("re")] == [2, 1]
