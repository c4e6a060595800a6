"""The shopping cart and what it costs."""

from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal


@dataclass(frozen=True)
class LineItem:
    """Some pieces of one article."""

    sku: str
    unit_price_cents: int
    quantity: int


def discounted(cents: int, percent: int) -> Decimal:
    """Return an amount less some percent of it, with its fraction of a cent."""
    return Decimal(cents) * (100 - percent) / 100


def whole(cents: Decimal) -> int:
    """Return the nearest whole number of cents, half a cent up."""
    return int(cents.quantize(Decimal(1), rounding=ROUND_HALF_UP))


class Cart:
    """The lines of one order."""

    def __init__(self, items: list[LineItem]) -> None:
        self._items = list(items)

    def line_totals_cents(self) -> list[int]:
        """Return what each line costs, without discount."""
        return [item.unit_price_cents * item.quantity for item in self._items]

    def subtotal_cents(self) -> int:
        """Return what all lines cost together, without discount."""
        return sum(self.line_totals_cents())

    def total_with_discount_cents(self, percent: int) -> int:
        """Return what the order costs after a discount of some percent."""
        prices = [discounted(cents, percent) for cents in self.line_totals_cents()]
        return whole(sum(prices, Decimal(0)))
