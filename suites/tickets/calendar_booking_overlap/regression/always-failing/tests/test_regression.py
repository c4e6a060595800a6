import pytest

from scheduler.calendar import Calendar


def test_back_to_back():
    calendar = Calendar()
    calendar.book("blue", 540, 600)
    with pytest.raises(ValueError):
        calendar.book("blue", 600, 660)
