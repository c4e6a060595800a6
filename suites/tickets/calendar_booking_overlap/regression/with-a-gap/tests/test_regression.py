from scheduler.calendar import Calendar


def test_back_to_back():
    calendar = Calendar()
    calendar.book("blue", 540, 600)
    calendar.book("blue", 601, 660)
    assert len(calendar.bookings) == 2
