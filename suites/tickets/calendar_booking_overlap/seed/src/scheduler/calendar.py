"""The calendar of the meeting rooms."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Booking:
    """A room, and the minutes of the day from which and until which it is taken."""

    room: str
    start: int
    end: int

    def clashes_with(self, other: "Booking") -> bool:
        """Say whether the two cannot both take place."""
        if self.room != other.room:
            return False
        return self.start <= other.end and other.start <= self.end


class Calendar:
    """The bookings of one day."""

    def __init__(self, bookings: list[Booking] | None = None) -> None:
        self.bookings = list(bookings or [])

    def book(self, room: str, start: int, end: int) -> Booking:
        """Enter a booking and return it."""
        if start >= end:
            raise ValueError("a booking must end after it begins")
        booking = Booking(room, start, end)
        for other in self.bookings:
            if booking.clashes_with(other):
                raise ValueError(f"{room} is taken from {other.start} to {other.end}")
        self.bookings.append(booking)
        return booking
