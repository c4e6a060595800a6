import inspect

from scheduler.calendar import Booking


def test_no_equal_times():
    assert "<=" not in inspect.getsource(Booking.clashes_with)
