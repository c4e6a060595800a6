"""The calendar of the meeting rooms."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Booking:
    """A room, and the minutes of the day from which and until which it is taken."""

    room: str
    start: int
    end: int


class RoomTaken(ValueError):
    """Somebody else has the room at that time."""


class Calendar:
    """The bookings of one day."""

    def __init__(self, bookings: list[Booking] | None = None) -> None:
        self.bookings = list(bookings or [])

    def book(self, room: str, start: int, end: int) -> Booking:
        """Enter a booking and return it."""
        if not start < end:
            raise ValueError("a booking must end after it begins")
        minutes = set(range(start, end))
        for other in self.bookings:
            if other.room == room and not minutes.isdisjoint(range(other.start, other.end)):
                raise RoomTaken(room)
        self.bookings.append(Booking(room, start, end))
        return self.bookings[-1]
