"""Which of the best settings' changes the search's own trials speak for."""

import random
from dataclasses import replace
from itertools import product

import pytest

from hotlap.settings import Settings
from studies.telling import telling

BASE = Settings()
WHOLE = Settings(num_workers=4, pin_memory=True, memory_format="channels_last")


def gain_of(settings):
    return 0.7 * bool(settings.num_workers) + 0.3 * (settings.memory_format != "contiguous")


def trials(rng, spread, space=((0, 2, 4), (False, True), ("contiguous", "channels_last"))):
    names = ("num_workers", "pin_memory", "memory_format")
    every = [Settings(**dict(zip(names, values, strict=True))) for values in product(*space)]
    return [(settings, rng.gauss(gain_of(settings), spread)) for settings in every]


@pytest.mark.parametrize("spread", [0.0, 0.05, 0.1])
def test_the_changes_that_trials_speak_for_are_told(spread):
    told = [telling(WHOLE, BASE, trials(random.Random(i), spread), spread) for i in range(40)]
    useful = {"num_workers", "memory_format"}
    assert sum(set(names) == useful for names in told) >= 36
    assert all(useful <= set(names) for names in told)


def test_of_changes_that_were_always_made_together_the_likeliest_counts():
    together = [(BASE, 0.0), (WHOLE, 0.5)]
    for name in WHOLE.changed():
        assert telling(WHOLE, BASE, together, 0.1, [name]) == (name,)


def test_a_change_that_does_harm_goes_though_it_tells_much():
    slow = [(s, gain - 0.4 * s.pin_memory) for s, gain in trials(random.Random(0), 0.02)]
    assert "pin_memory" not in telling(WHOLE, BASE, slow, 0.02)


def test_values_of_one_knob_speak_for_it_together_and_not_for_what_was_always_beside_it():
    def workers(n):
        return Settings(num_workers=n, persistent_workers=True, pin_memory=True)

    climbed = [(BASE, 0.0), (workers(1), 0.6), (workers(2), 0.9), (workers(4), 1.1)]
    for likely in (["num_workers"], ["persistent_workers"], ["pin_memory", "persistent_workers"]):
        told = telling(workers(4), BASE, climbed, 0.09, likely)
        assert told[0] in ("num_workers", "pin_memory")
        assert "num_workers" in told or "persistent_workers" not in told
    assert telling(workers(4), BASE, climbed, 0.09, ["num_workers"]) == ("num_workers",)


def test_without_trials_it_is_the_likeliest():
    assert telling(WHOLE, BASE, [], 0.1, ["pin_memory"]) == ("pin_memory",)


def test_where_no_change_stands_out_it_is_the_one_with_the_best_trials():
    even = [(WHOLE, 0.02), (replace(WHOLE, num_workers=0), 0.01), (BASE, 0.0)]
    assert telling(WHOLE, BASE, even, 0.3) == ("num_workers",)
