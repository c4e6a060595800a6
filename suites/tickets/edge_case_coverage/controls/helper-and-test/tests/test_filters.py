from storefront.filters import mentioning
from storefront.search import InventoryService


def test_no_goods():
    assert mentioning([], "milk") == []
    assert InventoryService([]).search("milk") == mentioning([], "milk")
