import pytest

from warehouse.legacy_search import find_products
from warehouse.models import Product
from warehouse.service import InventoryService

LAMP = Product("5001", "Fog lamp", ("lamp", "fog"), 2)


@pytest.mark.parametrize("query", ["lamp", "FOG", "o"])
def test_lamp_is_listed_once(query):
    assert InventoryService([LAMP]).search(query) == [LAMP]
