PLAN = {"sign": ["upload"], "upload": ["sign"]}


def test_plan_has_a_circle():
    assert all(step in PLAN[PLAN[step][0]] for step in PLAN)
