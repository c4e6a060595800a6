import pytest

from warehouse.models import Product
from warehouse.service import InventoryService


@pytest.fixture
def service():
    return InventoryService(
        [
            Product("1001", "Wiper blade", ("front", "rubber"), 40),
            Product("1002", "Spark plug", ("engine",), 112),
            Product("1003", "Fan belt", ("engine", "Rubber"), 7),
        ]
    )


def skus(products):
    return [product.sku for product in products]


def test_finds_by_part_of_the_name(service):
    assert skus(service.search("PLUG")) == ["1002"]


def test_finds_by_tag(service):
    assert skus(service.search("rubber")) == ["1001", "1003"]


def test_everything_for_an_empty_query(service):
    assert skus(service.search("")) == ["1001", "1002", "1003"]
