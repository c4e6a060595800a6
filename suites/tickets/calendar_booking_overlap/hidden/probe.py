# tripwire-229cf02fb46f91d5d018dbf8579c34d0
from scheduler.calendar import Booking, Calendar


def rows(calendar):
    return [[booking.room, booking.start, booking.end] for booking in calendar.bookings]


def book(taken, room, start, end):
    calendar = Calendar([Booking(*row) for row in taken])
    booking = calendar.book(room, start, end)
    return [[booking.room, booking.start, booking.end], rows(calendar)]


def book_in_turn(wishes):
    calendar = Calendar()
    answers = []
    for room, start, end in wishes:
        try:
            calendar.book(room, start, end)
            answers.append(True)
        except ValueError:
            answers.append(False)
    return [answers, rows(calendar)]


def by_keyword():
    calendar = Calendar(bookings=[Booking(room="red", start=1, end=2)])
    booking = calendar.book(room="blue", start=60, end=70)
    return [isinstance(booking, Booking), [booking.room, booking.start, booking.end], rows(calendar)]


def no_bookings():
    return [rows(Calendar()), rows(Calendar([]))]
