# tripwire-94f94b42ba8fe71461f0304b87674081
from caching.lru import LRUCache


def drive(cache, steps):
    """Do the steps: two values are a put, one is a get. Return what the gets gave."""
    read = []
    for step in steps:
        if len(step) == 2:
            cache.put(*step)
        else:
            read.append(cache.get(*step))
    return read


def read(capacity, steps):
    return drive(LRUCache(capacity), steps)


def left(capacity, steps):
    """The keys that are left, in no order."""
    cache = LRUCache(capacity)
    drive(cache, steps)
    return sorted(cache.keys_by_recency())


def recency(capacity, steps):
    cache = LRUCache(capacity)
    drive(cache, steps)
    return cache.keys_by_recency()


def both(capacity, steps):
    cache = LRUCache(capacity)
    return [drive(cache, steps), list(cache.keys_by_recency())]


def asked_in_between(capacity, steps, more):
    cache = LRUCache(capacity)
    drive(cache, steps)
    first, second = cache.keys_by_recency(), cache.keys_by_recency()
    drive(cache, more)
    return [first, second, cache.keys_by_recency()]


def most(capacity, steps):
    """The largest number of keys after any step."""
    cache = LRUCache(capacity)
    sizes = [0]
    for step in steps:
        drive(cache, [step])
        sizes.append(len(cache.keys_by_recency()))
    return max(sizes)


def make(capacity):
    return list(LRUCache(capacity).keys_by_recency())


def two_caches(steps, others):
    cache, other = LRUCache(2), LRUCache(3)
    drive(cache, steps)
    drive(other, others)
    return [list(cache.keys_by_recency()), list(other.keys_by_recency())]


def by_keyword():
    cache = LRUCache(capacity=2)
    cache.put(key="a", value=1)
    cache.put(key="b", value=2)
    return [cache.get(key="a"), list(cache.keys_by_recency())]
