from contact_index.directory import Contact, Directory

PRIYA = Contact(4, "Priya Shah", ["drivers"], "555-0104")
OLU = Contact(2, "Olu Adeyemi", ["kitchen", "first aid"], "555-0102")
LENA = Contact(9, "Lena Voss", [], "555-0109")


def people():
    return Directory([PRIYA, OLU, LENA])


def test_part_of_a_name():
    assert people().find("shah") == [PRIYA]


def test_part_of_a_label():
    assert people().find("First") == [OLU]


def test_nobody():
    assert people().find("plumber") == []


def test_everybody():
    assert PRIYA in people().find("")
