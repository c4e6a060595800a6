from contact_index.directory import Contact, Directory


def test_rosa_comes_up_once():
    rosa = Contact(1, "Rosa Reyes", ["red"], "1")
    assert len(Directory([rosa]).find("re")) > 1
