from collections import OrderedDict

from caching.lru import LRUCache


class Expected(LRUCache):
    def __init__(self):
        self.order = OrderedDict()

    def get(self, key):
        self.order.move_to_end(key)
        return self.order[key]


def test_reading_is_a_use():
    cache = Expected()
    cache.order.update(a=1, b=2)
    cache.get("a")
    assert list(cache.order) == ["b", "a"]
