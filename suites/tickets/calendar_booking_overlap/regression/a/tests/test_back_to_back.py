from scheduler.calendar import Calendar


def test_meetings_without_a_gap():
    calendar = Calendar()
    calendar.book("green", 600, 660)
    calendar.book("green", 660, 720)
    calendar.book("green", 540, 600)
    assert len(calendar.bookings) == 3
