import dis

from depot.inventory import InventoryService


def test_compares_for_equality():
    operations = [i.opname + str(i.argrepr) for i in dis.get_instructions(InventoryService.restock)]
    assert "COMPARE_OP==" in operations
