from warehouse.models import Product
from warehouse.service import InventoryService


def test_lines_of_an_article_with_alike_tags():
    mat = Product("4001", "Floor mat", ("floor", "flood", "flow"), 2)
    assert [article.sku for article in InventoryService([mat]).search("flo")] == ["4001"]
