from planner.order import resolve_order


def test_chain_of_steps():
    order = resolve_order({"assemble": [], "bake": ["assemble"], "carry": ["bake"]})
    assert order.index("assemble") < order.index("bake") < order.index("carry")


def test_unrelated_steps_are_all_there():
    assert sorted(resolve_order({"lint": [], "docs": []})) == ["docs", "lint"]


def test_step_without_an_entry():
    order = resolve_order({"unpack": []})
    assert "unpack" in order


def test_plan_without_steps():
    assert list(resolve_order({})) == []
