from datetime import datetime
from decimal import Decimal

from gauges import Board, Gauge, Limits
from gauges.__main__ import demo, main
from gauges.screen import check, show


def test_show():
    assert list(show(demo())) == [
        "Boiler house (2024-03-01 06:30)",
        "  boiler pressure: 1.5 to 6 bar, every 0:00:02 [boiler, safety] icon of 5 bytes",
        "  feed water: 0.25 to - m3/h, every 0:00:10",
        "  # shift: see the book",
    ]


def test_check():
    readings = ["boiler pressure 6.01", "boiler pressure 6.00", "feed water 0.2", "other 5", "feed water none", ""]
    assert list(check(demo(), readings)) == ["boiler pressure is 6.01", "feed water is 0.2"]


def test_no_limits():
    assert list(check(Board("x", datetime(2020, 1, 1), [Gauge("a", limits=Limits())]), ["a -1e99"])) == []
    assert not Limits(most=Decimal(1)).hold(Decimal("1.1"))


def test_main(tmp_path, capsys):
    name = str(tmp_path / "a.board")
    assert main(["gauges", "demo", name]) == 0
    assert main(["gauges", "show", name]) == 0
    assert capsys.readouterr().out.startswith("Boiler house (2024-03-01 06:30)\n")
    (tmp_path / "readings").write_text("feed water 0.1\n")
    assert main(["gauges", "check", name, str(tmp_path / "readings")]) == 0
    assert capsys.readouterr().out == "feed water is 0.1\n"


def test_statuses(tmp_path, capsys):
    (tmp_path / "bad.board").write_bytes(b"gauges 2\nbad")
    assert main(["gauges", "show", str(tmp_path / "bad.board")]) == 2
    assert main(["gauges", "show", str(tmp_path / "none.board")]) == 3
    assert main(["gauges", "draw", "x"]) == 64
    assert capsys.readouterr().out == ""
