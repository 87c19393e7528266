from simulated import Clock

from studies import Budget


def test_the_budget_counts_from_the_commands_start_and_keeps_a_share_for_later_stages():
    clock = Clock()
    clock.now = 30.0
    budget = Budget(100, start=20.0, clock=clock)
    assert budget.spent() == 10
    assert budget.left() == 90
    assert budget.left(keep=0.4) == 50
    clock.now = 90.0
    assert budget.left(keep=0.4) == 0
    assert budget.left() == 30
    clock.now = 500.0
    assert budget.left() == 0
