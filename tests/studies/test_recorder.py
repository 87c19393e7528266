import pytest
from replay import BASE, EXPERT, KNOBS
from test_search import rate

from runners.table import Table
from runners.table_writer import TableWriter
from studies import record

SPACE = {name: KNOBS[name] for name in ("num_workers", "prefetch_factor")}
# The expert's pin_memory lies outside of what is searched.
HEADER = {
    "workload": {"name": "simulated"},
    "space": {**SPACE, "pin_memory": KNOBS["pin_memory"]},
}


@pytest.fixture
def recorder(replay, tmp_path):
    """Records on the simulated machine; each call is another session over the same table."""

    def session(n_trials=None, n_repeats=1, refuse=lambda settings: "", **machine):
        # A study on recorded rates has no racing, whatever pruner a search would have.
        study = replay(rate, knobs=SPACE, folder=tmp_path / f"{len(told)}", **machine)
        every = [BASE, EXPERT, *study.space.grid()]
        with TableWriter(tmp_path / "table.jsonl", HEADER) as rows:
            more = (refuse, n_repeats, n_trials)
            told.append(record(study.lab, every, rows, study.seen, *more, clock=study.clock))
        return study

    told = []
    session.told = told
    session.table = lambda: Table.read(tmp_path / "table.jsonl")
    return session


def test_every_settings_value_is_measured_once_with_its_whole_window(recorder):
    study = recorder(window_s=8.0)
    assert recorder.told == ["all 11 recorded"]
    keys = [row.settings.key() for row in recorder.table().rows]
    wanted = {s.key() for s in (BASE, EXPERT, *study.space.grid())}
    assert len(keys) == len(set(keys)) == 11 and set(keys) == wanted
    assert {len(row.blocks) for row in recorder.table().rows} == {16}
    assert {trial.kind for trial in study.seen.trials} == {"record"}


def test_a_killed_server_is_no_row_of_the_settings_that_it_served(recorder):
    recorder(is_killed=lambda settings: settings.num_workers == 4)
    assert recorder.told[-1] == "8 of 11 recorded; the same command goes on with the rest"
    assert all(row.settings.num_workers != 4 for row in recorder.table().rows)
    recorder()
    assert recorder.told[-1] == "all 11 recorded"


def test_a_recording_that_was_broken_off_goes_on_with_what_is_missing(recorder):
    first = recorder(n_trials=4)
    assert first.runner.ran[0] == BASE  # a part of a table can be replayed too
    assert recorder.told[-1] == "4 of 11 recorded; the same command goes on with the rest"
    with pytest.raises(KeyboardInterrupt):
        recorder(interrupt_at=3)
    assert len(recorder.table().rows) == 7
    last = recorder()
    assert recorder.told[-1] == "all 11 recorded"
    assert len(first.runner.ran) == len(last.runner.ran) == 4
    again = recorder()
    assert not again.runner.ran and recorder.told[-1] == "all 11 recorded"


def test_repeats_come_in_rounds_over_the_whole_space(recorder):
    study = recorder(n_repeats=3, process_noise=0.02)
    rounds = [study.runner.ran[i : i + 11] for i in (0, 11, 22)]
    assert [len({s.key() for s in r}) for r in rounds] == [11, 11, 11]
    assert rounds[0] != rounds[1] != rounds[2]
    assert len(recorder.table().process_noise) == 33
    assert not recorder(n_repeats=2).runner.ran


def test_failures_are_recorded_and_known_ones_are_not_tried(recorder):
    study = recorder(
        fails=lambda s: "oom" if s.num_workers == 4 else "",
        refuse=lambda s: "no shared memory" if s.prefetch_factor == 8 else "",
    )
    outcomes = {}
    for row in recorder.table().rows:
        outcomes.setdefault(row.outcome, []).append(row)
    assert {name: len(rows) for name, rows in outcomes.items()} == {"ok": 6, "oom": 2, "invalid": 3}
    assert {row.data["reason"] for row in outcomes["invalid"]} == {"no shared memory"}
    assert not any(s.prefetch_factor == 8 for s in study.runner.ran)
    assert all("out of memory" in row.data["reason"] for row in outcomes["oom"])


def test_each_trial_is_followed_by_how_many_are_done_and_how_long_the_rest_takes(recorder):
    study = recorder(window_s=4.0)
    notes = [note for note in study.seen.notes if "recorded, about" in note]
    assert len(notes) == 11
    assert notes[0] == "1 of 11 recorded, about 1 min left"  # 10 trials of 8 s
    assert notes[-1] == "11 of 11 recorded, about 0 s left"
