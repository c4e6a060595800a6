import pytest

from scheduler.calendar import Booking, Calendar


@pytest.mark.parametrize(("start", "end"), [(0, 100), (200, 300), (200, 201), (99, 100)])
def test_neighbours(start, end):
    calendar = Calendar([Booking("hall", 100, 200)])
    calendar.book("hall", start, end)
    assert len(calendar.bookings) == 2
