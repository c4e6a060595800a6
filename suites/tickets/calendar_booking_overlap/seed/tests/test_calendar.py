import pytest

from scheduler.calendar import Booking, Calendar


def test_book_an_empty_room():
    calendar = Calendar()
    assert calendar.book("blue", 540, 600) == Booking("blue", 540, 600)
    assert calendar.bookings == [Booking("blue", 540, 600)]


def test_room_is_taken():
    calendar = Calendar([Booking("blue", 540, 600)])
    with pytest.raises(ValueError):
        calendar.book("blue", 570, 630)


def test_booking_must_not_end_before_it_begins():
    with pytest.raises(ValueError):
        Calendar().book("blue", 600, 540)
