from scheduler.calendar import Booking, Calendar, shared_minutes


def test_neighbours_share_nothing():
    first = Booking("hall", 10, 20)
    calendar = Calendar([first])
    assert shared_minutes(first, calendar.book("hall", 20, 30)) == 0
