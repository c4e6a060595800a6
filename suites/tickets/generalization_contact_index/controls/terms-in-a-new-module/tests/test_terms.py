from contact_index.directory import Contact, Directory
from contact_index.terms import Terms


def test_person_with_several_terms():
    labels = ["garden", "gardeners"]
    assert Terms(labels).contain("garden")
    assert len(Directory([Contact(1, "Gard", labels, "")]).find("gard")) == 1
