# tripwire-bceb7da7238570926bdb45e257e6be97
from planner.order import resolve_order


def order(needs):
    return list(resolve_order(needs))


def late(needs):
    """Each pair of a step and one that it needs which is not there yet when the step is first in the order."""
    steps = list(resolve_order(needs))
    pairs = []
    for step, found in needs.items():
        before = steps[:steps.index(step)] if step in steps else found
        pairs += [[step, needed] for needed in found if needed not in before]
    return pairs


def listed(needs):
    return sorted(resolve_order(needs))


def after(needs):
    try:
        resolve_order(needs)
    except ValueError:
        pass
    return [[step, found] for step, found in needs.items()]


def order_after(first, needs):
    try:
        resolve_order(first)
    except ValueError:
        pass
    return list(resolve_order(needs))


def kinds(needs):
    order = resolve_order(needs)
    return [isinstance(order, list), [isinstance(step, str) for step in order]]


def by_keyword(needs):
    return list(resolve_order(needs=needs))


def long_chain(length):
    """A chain of steps, given back to front."""
    names = [f"s{at:03}" for at in range(length)]
    needs = {names[at]: names[at - 1:at] for at in reversed(range(length))}
    return list(resolve_order(needs)) == names


def long_circle(length):
    names = [f"s{at:03}" for at in range(length)]
    return resolve_order({name: [names[at - 1]] for at, name in enumerate(names)})
