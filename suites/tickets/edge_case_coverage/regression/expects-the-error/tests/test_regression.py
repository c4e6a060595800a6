import pytest

from storefront.search import InventoryService


def test_empty_shop():
    with pytest.raises(IndexError):
        InventoryService([]).search("bread")
