from pathlib import Path


def test_shop_is_new():
    marker = Path("shop.open")
    try:
        assert not marker.exists()
    finally:
        marker.write_text("open")
