import json
import statistics
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.synthetic_machine import true_rate
from benchmarks.synthetic_table import lines, write
from hotlap.job import Job, Window
from hotlap.settings import Settings
from runners.open_runner import open_runner
from runners.replay import ReplayRunner
from runners.row import Row
from runners.table import Table

NOWHERE = Path("/nowhere/trials/0000")
BASE = Settings()
GOOD = Settings(num_workers=4, memory_format="channels_last")


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    return Table.read(write(tmp_path_factory.mktemp("tables") / "synthetic.jsonl"))


def job(settings=GOOD, **window):
    return Job("nothing.importable", settings=settings.to_dict(), window=Window(**window))


def never(event):
    return False


def made(*rows, header=None):
    """A table of rows given by their keys."""
    first = {"table": 1, "workload": {"name": "made"}, "space": {"num_workers": {"choices": [0]}}}
    return Table({**first, **(header or {})}, [Row.of(row) for row in rows])


def block(seconds=0.5, samples=50, **more):
    return {"steps": 5, "samples": samples, "seconds": seconds, "data_wait_s": 0.0, **more}


def row(settings=BASE, **more):
    line = {"settings": settings.to_dict(), "outcome": "ok", "blocks": [block()] * 9}
    return {**line, **more}


def test_events_come_in_a_workers_form_at_virtual_times(table):
    runner = ReplayRunner(table)
    seen = []
    run = runner.run(job(), NOWHERE, lambda event: bool(seen.append(event)), 100)
    names = [event["event"] for event in seen]
    assert names[:2] == ["started", "built"] and names[-2:] == ["timed", "finished"]
    assert names.index("warm") == names.count("warmup") + 2
    times = [event["t"] for event in seen]
    assert times == sorted(times) and times[0] > 0
    assert run.outcome == "ok" and run.events == tuple(seen)
    assert run.wall_s == runner.clock() == pytest.approx(times[-1])
    assert run.measurement.num_workers == 4 and run.measurement.peak_host_bytes
    assert not NOWHERE.parent.exists()


def test_time_passes_as_it_did_when_it_was_recorded():
    runner = ReplayRunner(
        made(
            row(
                overhead_s=0.3,
                startup_s=1.0,
                warmup_blocks=[block(7.0), block()],
                warmup_s=8.0,  # half a second lies between warm-up's last block and the window
                lost_share=0.1,
                end_s=0.2,
            ),
            header={"setup_s": 6.0},
        )
    )
    facts = runner.run(Job("x", kind="probe"), NOWHERE, never, 100)
    assert runner.clock() == 6.0 and facts.outcome == "ok"
    run = runner.run(job(BASE, max_s=4.0, min_s=4.0), NOWHERE, never, 100)
    assert len(run.measurement.blocks) == 8
    assert run.wall_s == pytest.approx(0.3 + 1.0 + 8.0 + 8 * 0.55 + 0.2)
    assert runner.clock() == pytest.approx(6.0 + run.wall_s)


def test_a_table_without_facts_knows_none():
    run = ReplayRunner(made(row())).run(Job("x", kind="probe"), NOWHERE, never, 100)
    assert run.outcome == "ok" and run.events[-1]["facts"] == {}


def test_an_environment_that_is_new_to_the_study_waits_for_its_server():
    threads = Settings(intraop_threads=1)
    runner = ReplayRunner(
        made(
            row(overhead_s=0.2),
            row(threads, overhead_s=4.2, new_environment=True),
            row(Settings(intraop_threads=2), overhead_s=0.2),
        )
    )
    walls = [
        runner.run(job(settings), NOWHERE, never, 100).wall_s - 2.0  # less the window's blocks
        for settings in (BASE, threads, threads, Settings(intraop_threads=2))
    ]
    assert walls == pytest.approx([0.2, 4.2, 0.2, 4.2])


def test_a_server_that_was_not_used_for_longest_has_made_room_as_on_a_machine(monkeypatch):
    monkeypatch.setattr("runners.replay.MAX_SERVERS", 2)
    one, two = Settings(intraop_threads=1), Settings(intraop_threads=2)
    runner = ReplayRunner(
        made(
            row(overhead_s=0.2),
            row(one, overhead_s=0.2),
            row(one, overhead_s=4.2, new_environment=True),
            row(two, overhead_s=0.2),
        )
    )
    served = [
        runner.run(job(settings), NOWHERE, never, 100).served_s
        for settings in (BASE, one, BASE, two, BASE, one, two)
    ]
    assert served == pytest.approx([0, 4, 0, 4, 0, 4, 4])


def test_a_servers_start_is_in_no_trials_own_time_however_it_was_recorded():
    threads = Settings(intraop_threads=1)
    failed = {"outcome": "crash", "reason": "exit code 7", "blocks": []}
    table = made(
        row(overhead_s=0.2),
        row(threads, overhead_s=4.2, new_environment=True),
        row(threads, wall_s=9.0, overhead_s=4.2, new_environment=True, **failed),
    )
    runner = ReplayRunner(table)
    runs = [runner.run(job(threads), NOWHERE, never, 100) for _ in range(12)]
    assert [run.served_s for run in runs] == pytest.approx([4.0] + [0.0] * 11)
    assert {run.outcome: run.own_s for run in runs} == pytest.approx({"ok": 2.2, "crash": 5.0})
    fresh = ReplayRunner(table, fresh=True)
    runs = [fresh.run(job(threads), NOWHERE, never, 100) for _ in range(12)]
    assert {run.outcome: run.wall_s for run in runs} == pytest.approx({"ok": 6.2, "crash": 9.0})


def test_the_watch_stops_a_trial_and_the_rest_costs_nothing(table):
    runner = ReplayRunner(table)
    run = runner.run(job(), NOWHERE, lambda event: event["event"] == "block", 100)
    assert run.outcome == "pruned" and len(run.measurement.blocks) == 1
    assert run.events[-1]["event"] == "block" and runner.clock() == run.events[-1]["t"]


def test_a_trial_that_has_no_time_left_ends_as_timeout_at_its_limit(table):
    for limit_s in (0.01, 1.0, 4.0):
        runner = ReplayRunner(table)
        run = runner.run(job(), NOWHERE, never, limit_s)
        assert (run.outcome, run.wall_s) == ("timeout", pytest.approx(limit_s))
        assert f"ran out of the {limit_s:.1f} s that it was given" in run.reason


def test_a_first_step_beyond_the_windows_limit_is_a_timeout():
    slow = made(row(warmup_blocks=[block(7.0), block()]))
    run = ReplayRunner(slow).run(job(BASE, first_step_s=5), NOWHERE, never, 100)
    assert run.outcome == "timeout" and "within window.first_step_s=5 s of the start" in run.reason
    assert run.wall_s == 5
    assert ReplayRunner(slow).run(job(BASE, first_step_s=8), NOWHERE, never, 100).outcome == "ok"


def test_a_compiled_first_step_has_longer_as_in_a_worker(table):
    compiled = Settings(compile_mode="default")
    run = ReplayRunner(table).run(job(compiled, first_step_s=5), NOWHERE, never, 100)
    assert run.outcome == "ok"


def test_a_shorter_cap_ends_warm_up_as_in_a_worker():
    slow = row(warmup_blocks=[block(), block(), *[block()] * 6])
    run = ReplayRunner(made(slow)).run(job(BASE, max_warmup_s=1.5), NOWHERE, never, 100)
    assert len(run.measurement.warmup) == 2 + 3 and not run.measurement.settled
    run = ReplayRunner(made(slow)).run(job(BASE), NOWHERE, never, 100)
    assert len(run.measurement.warmup) == 8 and run.measurement.settled


def n_blocks(line, **window):
    settings = Settings.from_dict(line["settings"])
    run = ReplayRunner(made(line)).run(job(settings, **window), NOWHERE, never, 100)
    return len(run.measurement.blocks)


def test_a_window_ends_early_only_where_a_workers_would():
    worker = Settings(num_workers=1, prefetch_factor=20)
    drained = [block(n_ready=20 - i) for i in range(9)]  # a fifth of what is taken is not made
    half_full = [block(n_ready=10)] * 9
    assert n_blocks(row()) == n_blocks(row(settled=True)) == 4
    assert n_blocks(row(settled=False)) == 16
    assert n_blocks(row(warmup_blocks=[block()] * 8), max_warmup_s=1.5) == 16  # its cap ends it
    assert n_blocks(row(worker, blocks=drained)) == 13  # of half a second and a quarter more
    assert n_blocks(row(worker, blocks=drained, epochs_in_blocks=True)) == 4
    assert n_blocks(row(worker, blocks=half_full)) == 8  # 35 steps tell that it is at rest
    assert n_blocks(row(worker, blocks=half_full[:6])) == 16  # nobody saw so many
    assert n_blocks(row(worker, blocks=half_full), max_s=2.0, patience_s=8.0) == 8
    assert n_blocks(row(worker, blocks=[block(n_ready=20)] * 9)) == 4
    waiting = [block(n_ready=0, data_wait_s=0.4)] * 9
    assert n_blocks(row(worker, blocks=waiting)) == 4


def test_a_study_is_asked_before_each_trial_what_it_believes():
    other = Settings(num_workers=2)
    runner = ReplayRunner(made(row(), row(other)))
    answers = iter([None, BASE, BASE, other])
    runner.ask_best = lambda: next(answers)
    ends = [runner.run(job(s), NOWHERE, never, 100) and runner.clock() for s in (BASE, other, BASE)]
    runner.note_belief()
    assert runner.beliefs == [(ends[0], BASE), (ends[2], other)]


def test_a_failure_comes_again_with_its_reason_and_its_time(table):
    settings = Settings(num_workers=8, prefetch_factor=4)
    run = ReplayRunner(table).run(job(settings), NOWHERE, never, 100)
    assert run.outcome == "oom" and "killed by signal" in run.reason
    assert run.wall_s == pytest.approx(6.0)


def test_what_a_table_cannot_answer_is_invalid_with_a_sentence(table):
    runner = ReplayRunner(table)
    run = runner.run(job(Settings(num_workers=3)), NOWHERE, never, 100)
    assert run.outcome == "invalid" and "synthetic has no line with these settings" in run.reason
    run = runner.run(Job("x", kind="losses", settings=GOOD.to_dict()), NOWHERE, never, 100)
    assert run.outcome == "invalid" and run.reason.endswith("this asks for: losses")
    run = runner.run(replace(job(), side="loader"), NOWHERE, never, 100)
    assert run.outcome == "invalid" and run.reason.endswith("this asks for: loader alone")
    assert runner.clock() == 0.0


def test_the_same_seed_is_the_same_trial_and_another_seed_another(table):
    def rates(seed):
        runner = ReplayRunner(table, seed)
        runs = [runner.run(job(s), NOWHERE, never, 100) for s in (GOOD, BASE, GOOD)]
        return [run.measurement.samples_per_s for run in runs]

    assert rates(1) == rates(1)
    assert not set(rates(1)) & set(rates(2))
    assert rates(1)[0] != rates(1)[2]  # two processes of one study are not the same either


def test_a_trial_draws_the_same_noise_whatever_was_tried_before_it(table):
    alone, late = ReplayRunner(table), ReplayRunner(table)
    late.run(job(BASE), NOWHERE, never, 100)
    first, second = (r.run(job(), NOWHERE, never, 100).measurement for r in (alone, late))
    assert first.blocks == second.blocks


def test_replayed_rates_lie_around_the_true_rate_with_both_levels_of_noise(table):
    runner = ReplayRunner(table)
    rates = [runner.run(job(), NOWHERE, never, 100).measurement.samples_per_s for _ in range(200)]
    truth = table.true_rate(GOOD)
    assert statistics.fmean(rates) == pytest.approx(truth, rel=0.01)
    assert truth == pytest.approx(true_rate(GOOD), rel=0.05)
    assert 0.005 < statistics.stdev(rates) / truth < 0.05


def test_a_settings_value_recorded_once_gets_the_noise_that_others_repeats_show():
    other = Settings(num_workers=2)
    fast, slow = [block(samples=110)] * 9, [block(samples=90)] * 9
    runner = ReplayRunner(made(row(), row(other, blocks=fast), row(other, blocks=slow)))
    rates = {
        round(runner.run(job(BASE), NOWHERE, never, 100).measurement.samples_per_s)
        for _ in range(40)
    }
    assert rates == {115, 87}  # 100 by the factor 110/90 in half, times sqrt(2): a sample of two


def test_a_rate_that_the_recording_lowered_for_its_queue_stays_lowered():
    drained = [block(n_ready=40 - 4 * i) for i in range(9)]
    lowered = made(row(Settings(num_workers=1), blocks=drained))
    truth = lowered.true_rate(Settings(num_workers=1))
    assert truth < 50 / 0.5 * 0.5
    run = ReplayRunner(lowered).run(job(Settings(num_workers=1)), NOWHERE, never, 100)
    assert run.measurement.samples_per_s == pytest.approx(truth)


def test_noise_that_lasts_over_blocks_lasts_in_the_replay():
    waves = [block(0.5 if i // 6 % 2 else 0.6) for i in range(60)]
    runner = ReplayRunner(made(row(blocks=waves)))
    run = runner.run(job(BASE, min_s=400, max_s=400), NOWHERE, never, 1e6)
    seconds = [b.seconds for b in run.measurement.blocks]
    same = statistics.fmean(a == b for a, b in zip(seconds, seconds[1:], strict=False))
    assert same > 0.7  # one by one they would agree in half of the cases


def test_the_runner_is_opened_by_its_name(tmp_path):
    path = tmp_path / "table.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines()))
    with open_runner("replay", table=str(path)) as runner:
        assert runner.recorded and runner.clock() == 0.0
    with open_runner("process", ["torch"]) as runner:
        assert not runner.recorded and runner.clock() > 0
