import pytest
from simulated import Clock

from studies import Budget
from studies.budget import END_S, END_SHARE


def test_the_budget_counts_from_the_commands_start_and_keeps_a_share_for_later_stages():
    clock = Clock()
    clock.now = 30.0
    budget = Budget(100, start=20.0, clock=clock)
    assert budget.spent() == 10
    assert budget.left() == 90 - END_S
    assert budget.left(keep=0.4) == 50 - END_S
    clock.now = 90.0
    assert budget.left(keep=0.4) == 0
    assert budget.left() == 30 - END_S
    clock.now = 500.0
    assert budget.left() == 0


def test_a_short_budget_keeps_a_share_of_it_to_end_in():
    clock = Clock()
    left = Budget(10, start=clock.now, clock=clock).left()
    assert left == pytest.approx(10 * (1 - END_SHARE))
