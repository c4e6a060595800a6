import unittest

from contact_index.directory import Contact, Directory


class PhoneRound(unittest.TestCase):
    def setUp(self):
        self.rosa = Contact(31, "Rosa Reyes", ["red team", "reserve"], "555-0131")

    def test_one_call(self):
        numbers = [person.phone for person in Directory([self.rosa]).find("RE")]
        self.assertEqual(numbers, ["555-0131"])
