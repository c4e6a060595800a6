import unittest

from ledger.account import Account, Ledger


class UnknownReceiver(unittest.TestCase):
    def test_payer_is_left_alone(self):
        club = Account("club", 50)
        ledger = Ledger([club])
        self.assertRaises(KeyError, ledger.transfer, "club", "member", 50)
        self.assertEqual(50, club.balance)
