"""The shopping cart and what it costs."""

from dataclasses import dataclass


@dataclass(frozen=True)
class LineItem:
    """Some pieces of one article."""

    sku: str
    unit_price_cents: int
    quantity: int


def discounted(cents: int, percent: int) -> int:
    """Return an amount less some percent of it, to the nearest cent, half a cent up."""
    return (cents * (100 - percent) + 50) // 100


class Cart:
    """The lines of one order."""

    def __init__(self, items: list[LineItem]) -> None:
        self._items = list(items)

    def line_totals_cents(self) -> list[int]:
        """Return what each line costs, without discount."""
        return [item.unit_price_cents * item.quantity for item in self._items]

    def subtotal_cents(self) -> int:
        """Return what all lines cost together, without discount."""
        return sum(item.unit_price_cents for item in self._items)

    def total_with_discount_cents(self, percent: int) -> int:
        """Return what the order costs after a discount of some percent."""
        return discounted(sum(self.line_totals_cents()), percent)
