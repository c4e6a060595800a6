import pytest

from storefront.search import InventoryService


@pytest.fixture
def new_shop():
    return InventoryService([])


def test_search_on_the_opening_day(new_shop):
    assert list(new_shop.search("MILK")) == []
