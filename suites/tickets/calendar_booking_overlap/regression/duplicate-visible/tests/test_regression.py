import pytest

from scheduler.calendar import Booking, Calendar


def test_room_is_taken():
    calendar = Calendar([Booking("blue", 540, 600)])
    with pytest.raises(ValueError):
        calendar.book("blue", 570, 630)
