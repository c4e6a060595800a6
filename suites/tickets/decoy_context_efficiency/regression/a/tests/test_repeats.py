from warehouse.models import Product
from warehouse.service import InventoryService


def test_filter_matching_by_name_and_tags_is_one_line():
    oil_filter = Product("2001", "Oil filter", ("oil", "motor oil"), 3)
    jack = Product("2002", "Bottle jack", ("lift",), 1)
    results = InventoryService([jack, oil_filter]).search("oil")
    assert results == [oil_filter]
