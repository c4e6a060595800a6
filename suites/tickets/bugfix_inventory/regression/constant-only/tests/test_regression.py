from inventory.product import Product

SHOE = Product("S-1", "Red running shoe", ("red", "retro"), 5)


def test_shoe_matches_in_several_fields():
    fields = [SHOE.name.lower(), *SHOE.tags]
    assert len([field for field in fields if "red" in field]) == 2
