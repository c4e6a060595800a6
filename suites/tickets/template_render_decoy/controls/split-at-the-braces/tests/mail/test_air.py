import unittest

from templating.mailer import Mail, compose


class Air(unittest.TestCase):
    def test_air_in_a_subject(self):
        mail = compose(Mail("{{  who\t}} wrote", ""), {"who": "Mary"})
        self.assertEqual(mail.subject, "Mary wrote")
