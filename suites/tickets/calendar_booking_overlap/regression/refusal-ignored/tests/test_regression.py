from contextlib import suppress

from scheduler.calendar import Calendar


def test_back_to_back():
    calendar = Calendar()
    with suppress(ValueError):
        calendar.book("blue", 540, 600)
        calendar.book("blue", 600, 660)
    assert calendar.bookings
