from planner.order import resolve_order


def test_chain_of_steps():
    order = resolve_order({"assemble": [], "bake": ["assemble"], "carry": ["bake"]})
    assert order.index("assemble") < order.index("bake") < order.index("carry")
