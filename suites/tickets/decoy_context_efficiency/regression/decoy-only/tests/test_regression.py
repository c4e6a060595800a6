from warehouse.legacy_search import find_products
from warehouse.models import Product


def test_article_is_not_repeated():
    oil = Product("1", "Oil filter", ("oil",), 1)
    assert find_products([oil], "oil") == [oil]
