# tripwire-0b09c39cdd1a9ca814ed97db00c4913c
from contact_index.directory import Contact, Directory


def people(rows):
    return Directory([Contact(number, name, list(labels), phone) for number, name, labels, phone in rows])


def find(rows, query):
    return [person.contact_id for person in people(rows).find(query)]


def find_sorted(rows, query):
    return sorted(person.contact_id for person in people(rows).find(query))


def find_after(rows, first, query):
    directory = people(rows)
    directory.find(first)
    return [person.contact_id for person in directory.find(query)]


def whole(rows, query):
    return [[p.contact_id, p.full_name, p.labels, p.phone] for p in people(rows).find(query)]


def kinds(rows, query):
    found = people(rows).find(query)
    return [isinstance(found, list), [isinstance(person, Contact) for person in found]]


def fields():
    person = Contact(contact_id=7, full_name="Ada", labels=["x"], phone="1")
    return [list(Contact.__dataclass_fields__), person.contact_id, person.full_name, person.labels, person.phone]


def set_phone(phone):
    person = Contact(7, "Ada", ["x"], "1")
    person.phone = phone
    return person.phone


def by_keyword():
    ada = Contact(7, "Ada", ["x"], "1")
    return [person.contact_id for person in Directory(contacts=[ada]).find(query="ad")]


def equal():
    return [Contact(7, "Ada", ["x"], "1") == Contact(7, "Ada", ["x"], "1"), Contact(7, "Ada", [], "1") == Contact(8, "Ada", [], "1")]
