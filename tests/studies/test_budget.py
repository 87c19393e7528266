import pytest
from simulated import Clock

from hotlap.job import Window
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


@pytest.mark.parametrize(
    ("budget_s", "min_s", "max_s", "patience_s"),
    [(60, 1, 1, 1), (120, 2, 2, 2), (600, 2, 2, 8), (1200, 2, 4, 8), (7200, 2, 8, 8)],
)
def test_windows_are_short_and_patience_is_not(budget_s, min_s, max_s, patience_s):
    window = Budget(budget_s).shortened(Window(min_s=2, max_s=8))
    assert (window.min_s, window.max_s, window.waits_s) == (min_s, max_s, patience_s)


def test_who_asks_for_a_longer_window_gets_it():
    window = Budget(3600).shortened(Window(min_s=30, max_s=30))
    assert (window.min_s, window.max_s, window.waits_s) == (30, 30, 30)
