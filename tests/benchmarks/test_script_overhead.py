import pytest

from benchmarks import script_overhead
from benchmarks.script_overhead import costs, seconds
from hotlap import frozen
from hotlap.settings import Settings


def test_the_script_runs_in_both_ways_and_times_itself(tmp_path, monkeypatch):
    monkeypatch.setitem(script_overhead.STEPS, "small", 40)
    settings = tmp_path / "frozen.yaml"
    frozen.dump(settings, Settings(), {})
    for arm in ("plain", "hotlap"):
        assert all(value > 0 for value in seconds("small", arm, settings))


def test_a_cost_is_a_ratio_within_each_round():
    rounds = [
        {"plain": (slow, 1.0), "hotlap": (slow * 1.02, 1.01), "control": (slow, 0.99)}
        for slow in (1.0, 5.0, 2.0)
    ]
    (_, clock, clock_control), (_, cpu, cpu_control) = costs(rounds)
    assert (clock.value, clock_control.value) == pytest.approx((1.02, 1.0))
    assert (cpu.value, cpu_control.value) == pytest.approx((1.01, 0.99))
