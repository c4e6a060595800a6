"""What a board consists of."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal


@dataclass
class Limits:
    """Between which values a gauge should stay; None: no limit."""

    least: Decimal | None = None
    most: Decimal | None = None

    def hold(self, value):
        return (self.least is None or value >= self.least) and (self.most is None or value <= self.most)


@dataclass
class Gauge:
    """One value that is looked at."""

    name: str
    unit: str = ""
    limits: Limits = field(default_factory=Limits)
    every: timedelta = timedelta(seconds=10)
    tags: set = field(default_factory=set)
    icon: bytes = b""


@dataclass
class Board:
    """Gauges that are looked at together."""

    title: str
    saved: datetime
    gauges: list = field(default_factory=list)
    notes: dict = field(default_factory=dict)
