import random
from pathlib import Path

import pytest

from hotlap.job import Job, Window
from hotlap.measurement import Block, Measurement
from runners.process import ProcessRunner
from studies.growth import Growth, Limits, can_tell, growths, slope_per_step

MIB, GIB = 1 << 20, 1 << 30
WORKLOADS = Path(__file__).parents[1] / "hotlap"
FREE = Limits(host_bytes=12 * GIB, open_files=1024, shared_bytes=GIB, device_bytes=8 * GIB)


def trial(what, value, n_blocks=16, n_warmup=4, steps=10, **more):
    """A measurement whose blocks hold `value(steps done)`."""
    blocks = [
        Block(steps, 40, 0.5, at_step=steps * i, **{what: round(value(steps * i))})
        for i in range(1, n_warmup + n_blocks + 1)
    ]
    return Measurement(tuple(blocks[n_warmup:]), tuple(blocks[:n_warmup]), **more)


def test_memory_that_grows_at_each_step_is_carried_on_to_the_full_run():
    found = growths(trial("host_bytes", lambda n: GIB + 3.1 * MIB * n), 45_000, FREE)
    assert [growth.what for growth in found] == ["host_bytes"]
    assert found[0].per_step == pytest.approx(3.1 * MIB)
    assert found[0].at_end == pytest.approx(GIB + 3.1 * MIB * 45_000)
    assert found[0].reached_after_steps == round((12 * GIB - GIB) / (3.1 * MIB))
    assert found[0].sentence == (
        "host memory grows by 3.1 MiB a step: the 12 GiB that are free would be used up after "
        "3,634 steps, and the full run has 45,000"
    )


def test_growth_that_the_full_run_has_room_for_is_told_without_an_alarm():
    (found,) = growths(trial("device_bytes", lambda n: MIB * n), 1000, FREE)
    assert found.reached_after_steps is None
    assert found.sentence == (
        "device memory grows by 1 MiB a step: 1,000 MiB at the end, since the full run has "
        "1,000 steps"
    )


def test_device_memory_is_full_when_a_step_at_its_peak_has_no_room():
    """Between two steps, where blocks are looked at, there are no activations."""
    seen = trial("device_bytes", lambda n: GIB + MIB * n, peak_device_bytes=6 * GIB)
    (found,) = growths(seen, 10**6, FREE)
    assert found.reached_after_steps == 200 + 2 * 1024
    assert found.sentence == (
        "device memory grows by 1 MiB a step: the device's 8 GiB would be used up after 2,248 "
        "steps, and the full run has 1,000,000"
    )


def test_without_the_runs_length_growth_is_told_in_1000_steps():
    (found,) = growths(trial("host_bytes", lambda n: 0.5 * MIB * n), None, FREE)
    assert found.at_end == pytest.approx(500 * MIB)
    assert found.reached_after_steps == 24 * 1024
    assert found.sentence == (
        "host memory grows by 500 MiB in 1,000 steps: the 12 GiB that are free would be used up "
        "after 24,576 steps"
    )


def test_open_files_are_told_by_the_limit_of_a_process():
    (found,) = growths(trial("open_files", lambda n: 24 + n), 5000, FREE)
    assert found.sentence == (
        "the number of open files grows by 1 a step: the limit of 1,024 for a process would be "
        "reached after 1,000 steps, and the full run has 5,000"
    )


def test_an_unknown_limit_is_never_reached():
    (found,) = growths(trial("device_bytes", lambda n: MIB * n), 10**9, Limits())
    assert found.reached_after_steps is None and found.limit is None


def test_shared_pages_are_counted_once_where_the_peak_is_known():
    seen = trial("host_bytes", lambda n: 6 * GIB + MIB * n, peak_host_bytes=2 * GIB)
    (found,) = growths(seen, 10**6, FREE)
    assert found.reached_after_steps == pytest.approx(10 * 1024 + 200, abs=1)


@pytest.mark.parametrize(
    "value",
    [
        lambda n: GIB,
        lambda n: GIB + 200 * MIB * (1 - 0.98**n),  # first touch, a cache that fills
        lambda n: GIB + (500 * MIB if n > 90 else 0),  # an allocator's large piece
        lambda n: GIB + 300 * MIB * ((n > 60) + (n > 140)),
        lambda n: GIB + 40 * MIB * (n // 10 % 5),  # workers that begin anew in each epoch
        lambda n: GIB + 64 * 1024 * n / 10,  # 64 KiB a block: a heap's own ups
        lambda n: 2 * GIB - 5 * MIB * n,
    ],
)
def test_what_comes_to_an_end_is_no_growth(value):
    assert growths(trial("host_bytes", value), 10**6, FREE) == []


def test_chance_alone_is_no_growth():
    chance = random.Random(0)
    steps = range(10, 210, 10)
    alarms = sum(
        slope_per_step(steps, [chance.gauss(100, 20) for _ in steps], 1.0) > 0 for _ in range(500)
    )
    assert alarms <= 5


def test_few_blocks_tell_nothing():
    assert growths(trial("host_bytes", lambda n: 10 * MIB * n, 3, 2), 10**6, FREE) == []


def ended_early(value, *at_steps):
    """A script that ended in its warm-up: blocks that end there hold `value(steps done)`."""
    lasts = (0, *at_steps)
    blocks = tuple(
        Block(at - last, at - last, 0.1, at_step=at, host_bytes=round(value(at)))
        for last, at in zip(lasts, at_steps, strict=False)
    )
    return Measurement(blocks[2:], blocks, settled=False)


def fills_up(n):
    return GIB + 200 * MIB * (1 - 0.98**n)


def grows_on(n):
    return GIB + 0.6 * MIB * n


@pytest.mark.parametrize("value", [fills_up, grows_on])
@pytest.mark.parametrize("at_steps", [(1, 2, 6, 22, 86), (1, 2, 6, 22, 86, 120)])
def test_three_points_of_a_warm_up_are_not_six_because_they_are_its_window_too(value, at_steps):
    seen = ended_early(value, *at_steps)
    assert growths(seen, 10**6, FREE) == [] and not can_tell(seen, "host_bytes")


@pytest.mark.parametrize(
    ("value", "grows"),
    [
        (grows_on, True),
        (lambda n: grows_on(n) + 20 * MIB * min(1, n / 20), True),  # and is first touched
        (fills_up, False),
        (lambda n: grows_on(min(n, 90)), False),
        (lambda n: GIB + 0.03 * MIB * n + 40 * MIB * (n == 300), False),  # saved at the end
        (lambda n: GIB + 0.03 * MIB * n, False),
    ],
)
def test_four_points_far_apart_tell_what_grows_all_the_way(value, grows):
    seen = ended_early(value, 1, 2, 6, 22, 86, 300)
    assert can_tell(seen, "host_bytes")
    assert bool(growths(seen, 10**6, FREE)) is grows


def test_few_points_that_are_not_far_apart_tell_nothing():
    steps = [100, 200, 300, 400, 500]
    assert slope_per_step(steps, [float(n) for n in steps], 1.0) == 0.0


def test_few_steps_tell_nothing():
    # A detector whose images differ in size: steps take seconds, and the heap is still growing up.
    kib = [794292, 814368, 810912, 826788, 840132, 841148]
    blocks = tuple(Block(1, 2, 5.0, at_step=i, host_bytes=k << 10) for i, k in enumerate(kib, 2))
    assert growths(Measurement(blocks), 10**6, FREE) == []


def test_blocks_that_could_not_tell_are_left_out():
    blocks = tuple(Block(10, 40, 0.5, at_step=10 * i) for i in range(20))
    assert growths(Measurement(blocks), 1000, FREE) == []


def test_the_limits_of_this_machine_are_read():
    here = Limits.here(host_bytes=10 * MIB, device_bytes=7)
    assert here.host_bytes == 10 * MIB and here.device_bytes == 7
    assert Limits.here().host_bytes > 10 * MIB


@pytest.fixture(scope="module")
def grows(tmp_path_factory):
    """What grows in a real trial of a workload in tests/hotlap/one_sided.py."""
    with ProcessRunner(preload=["torch"], gpu_watch=False) as runner:

        def grows(name, num_workers=0) -> list[Growth]:
            job = Job(
                f"one_sided.{name}",
                {},
                {"num_workers": num_workers},
                Window(max_s=1.0, min_s=1.0, block_s=0.05, precision=0.0),
                import_path=(str(WORKLOADS),),
            )
            run = runner.run(job, tmp_path_factory.mktemp(name), lambda event: False, 120)
            assert run.outcome == "ok", run.traceback
            assert run.measurement.blocks[-1].host_bytes > MIB
            assert run.measurement.blocks[-1].device_bytes is None
            return growths(run.measurement, 10**7, FREE)

        yield grows


def test_a_model_that_keeps_a_mebibyte_a_step_is_found(grows):
    (found,) = grows("keeps_a_mebibyte_a_step")
    assert found.what == "host_bytes"
    assert found.per_step == pytest.approx(MIB, rel=0.1)
    assert found.reached_after_steps < 12 * 1024 + 1


def test_a_dataset_that_leaves_a_file_open_for_each_batch_is_found(grows):
    found = {growth.what: growth for growth in grows("leaves_files_open")}
    assert found["open_files"].per_step == pytest.approx(1.0, rel=0.1)
    assert found["open_files"].reached_after_steps < 1024


@pytest.mark.parametrize("num_workers", [0, 2])
def test_a_workload_that_behaves_grows_by_nothing(grows, num_workers):
    assert grows("behaves", num_workers) == []
