"""A GradScaler looks for its scale in the warm-up; what it skips there is none of the window's."""

import pytest
from small_job import loss, workload

from hotlap.apply import apply
from hotlap.errors import Diverged
from hotlap.job import Job, Window
from hotlap.settings import Settings
from hotlap.window_skips import WindowSkips
from hotlap.worker import _time

STEP_BY_STEP = Window(max_s=1e-9, min_s=0.0, block_s=1e-9, max_warmup_s=1e-9)


def of_window(before, after):
    """What is skipped between two counts of updates (asked for, skipped)."""
    told, counts = [], iter([before, after])
    skips = WindowSkips(lambda event, **values: told.append(event), lambda: next(counts), "It")
    for event in ("built", "warm", "block"):
        skips(event)
    assert told == ["built", "warm", "block"]
    return skips.n_skipped()


def test_only_what_the_window_skips_counts():
    assert of_window((20, 15), (23, 15)) == 0
    assert of_window((20, 15), (23, 16)) == 1


def test_too_many_of_the_window_s_own_are_a_divergence():
    with pytest.raises(Diverged, match=r"It skipped 2 of the window's 3 updates"):
        of_window((20, 0), (23, 2))


@pytest.mark.usefixtures("flags_as_before")
def test_a_workload_whose_first_update_overflows_is_measured_all_the_same():
    steps = iter(range(10**9))

    def overflows_at_first(model, batch):
        return loss(model, batch) * (1e-3 if next(steps) else 1e6)  # finite, and its gradients not

    made = workload(loss=overflows_at_first)
    applied = apply(made, Settings(amp="fp16"))
    told = {}
    job = Job("", window=STEP_BY_STEP)
    _time(job, made, applied, lambda event, **values: told.update({event: values}))
    assert told["finished"]["n_skipped_steps"] == 0 and applied.n_skipped_steps() == 1
