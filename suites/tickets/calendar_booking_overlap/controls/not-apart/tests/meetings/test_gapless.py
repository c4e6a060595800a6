import unittest

from scheduler.calendar import Calendar


class Gapless(unittest.TestCase):
    def test_earlier_meeting_is_booked_last(self):
        calendar = Calendar()
        calendar.book("red", 60, 120)
        self.assertEqual((0, 60), (calendar.book("red", 0, 60).start, calendar.bookings[1].end))
