from searching import DRILL, EachOnce


class TestNameAndTag(EachOnce):
    products = [DRILL]
    query = "drill"
