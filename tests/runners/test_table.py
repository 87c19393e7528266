import gzip
import json
import math

import pytest

from hotlap.errors import UserInputError
from hotlap.measurement import Measurement
from hotlap.settings import Settings
from runners.protocol import Run
from runners.row import Row, line_of
from runners.table import Table
from runners.table_check import header_of, lines_of, main

HEADER = {
    "table": 1,
    "workload": {"name": "mine"},
    "space": {"num_workers": {"choices": list(range(10))}},
}


def block(rate, seconds=0.5, **more):
    return {"steps": 4, "samples": rate * seconds, "seconds": seconds, "data_wait_s": 0.1, **more}


def row(rate=100.0, workers=0, **more):
    line = {"settings": {"num_workers": workers}, "outcome": "ok", "startup_s": 1.0}
    return {**line, "blocks": [block(rate)] * 4, **more}


@pytest.fixture
def written(tmp_path):
    def write(*lines):
        path = tmp_path / "table.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        return path

    return write


def events():
    """A worker's, with what colleagues of it may add to a block."""
    return (
        {"event": "started", "t": 10.5, "pid": 7},
        {"event": "built", "t": 12.0, "startup_s": 1.5, "num_workers": 2, "n_epoch_steps": 90}
        | {"device": "cpu", "tokens_per_sample": None, "notes": []},
        {"event": "warmup", "t": 13.0, **block(60, 1.0, loss=2.0, n_ready=3)},
        {"event": "warm", "t": 13.5, "warmup_s": 1.5, "reason": "cap"},
        {"event": "block", "t": 14.0, **block(100, other_cpu_share=0.2, n_ready=1, extra=5)},
        {"event": "block", "t": 14.6, **block(110, other_cpu_share=0.1, n_ready=1, extra=6)},
        {"event": "timed", "t": 14.8, "compile_s": 0.7, "epoch_start_s": 0.3}
        | {"epoch_start_known": False, "epochs_in_blocks": False, "n_epoch_steps": 90},
        {"event": "finished", "t": 14.9, "peak_device_bytes": None, "peak_host_bytes": 2**30}
        | {"n_skipped_steps": 0},
    )


def test_a_trial_written_as_a_line_and_read_back_is_the_same_measurement():
    measured = Measurement.from_events(events(), {"gpu_share": 0.5})
    run = Run("ok", measured, events=events(), wall_s=5.0)
    line = json.loads(json.dumps(line_of(Settings(num_workers=2), run)))
    back = Row.of(line)
    assert back.measurement == measured and not measured.epoch_start_known
    assert back.settings == Settings(num_workers=2) and back.outcome == "ok"
    assert line["blocks"][1]["extra"] == 6 and "new_environment" not in line
    # 5 s in all, of which the worker saw 4.4; the window took 1.1 s for 1.0 s of blocks.
    assert line["overhead_s"] == pytest.approx(0.6)
    assert line["lost_share"] == pytest.approx(0.1)
    assert line["end_s"] == pytest.approx(0.3)


def test_a_failure_keeps_its_reason_and_what_it_had_done():
    seen = (*events()[:5], {"event": "failed", "t": 15.0, "outcome": "oom", "error": "no memory"})
    run = Run("oom", Measurement.from_events(seen), "no memory", "Traceback", seen, wall_s=6.0)
    line = line_of(Settings(), run)
    assert (line["outcome"], line["reason"], line["traceback"]) == ("oom", "no memory", "Traceback")
    assert len(line["blocks"]) == 1 and line["wall_s"] == 6.0
    assert Row.of(line).samples_per_s == 0.0


def test_the_true_rate_comes_from_all_blocks_of_all_repeats(written):
    path = written(HEADER, row(100), row(200, 2), row(242, 2), row(50, 4), row(0.1, 8))
    table = Table.read(path)
    assert table.true_rate(Settings()) == pytest.approx(100)
    assert table.true_rate(Settings(num_workers=2)) == pytest.approx(220)
    assert table.best == Settings(num_workers=2)
    assert table.regret(Settings(num_workers=4)) == pytest.approx(1 - 50 / 220)
    with pytest.raises(KeyError):
        table.true_rate(Settings(num_workers=3))


def test_settings_that_failed_in_one_repeat_are_never_the_best(written):
    failed = {"settings": {"num_workers": 2}, "outcome": "crash", "reason": "SIGSEGV"}
    table = Table.read(written(HEADER, row(100), row(900, 2), failed))
    assert table.true_rate(Settings(num_workers=2)) == 0.0
    assert table.best == Settings()


def test_regret_is_whole_where_there_is_no_answer(written):
    failed = {"settings": {"num_workers": 2}, "outcome": "crash", "reason": "SIGSEGV"}
    table = Table.read(written(HEADER, row(100), row(900, 2), failed))
    assert table.regret(Settings(num_workers=2)) == 1.0
    assert table.regret(Settings(num_workers=3)) == 1.0  # which was never recorded
    nothing = Table.read(written(HEADER, row(100), {**failed, "settings": {}}))
    assert nothing.true_rate(nothing.best) == 0.0 and nothing.regret(nothing.best) == 1.0


def test_the_first_line_is_known_as_soon_as_it_stands_there(written, tmp_path):
    path = written({**HEADER, "facts": {"cores": 2}})
    assert header_of(path)["facts"] == {"cores": 2}
    path.write_bytes(path.read_bytes() + b'{"settings": {')  # a recorder was killed
    assert header_of(path)["facts"] == {"cores": 2}
    assert header_of(tmp_path / "none.jsonl") == header_of(tmp_path) == {}
    for other in (b"", b"my notes\n", b"\xff\xfe\n", b'{"table": 1}\n', b'{"table": 1, "work'):
        path.write_bytes(other)
        assert header_of(path) == {}


def test_settings_that_break_a_limit_are_never_the_best(written):
    table = Table.read(written(HEADER, row(100), row(900, 2), row(500, 4)))
    limited = table.within(lambda measurement: measurement.samples_per_s < 800)
    assert table.best == Settings(num_workers=2)
    assert limited.best == Settings(num_workers=4)
    assert limited.regret(limited.best) == 0 < table.regret(limited.best)
    assert limited.regret(table.best) == 1
    assert table.within(lambda measurement: False).best == table.base


def test_process_noise_is_what_repeats_show(written):
    table = Table.read(written(HEADER, row(100), row(121), row(500, 2)))
    spread = math.log(1.1) * math.sqrt(2)
    assert sorted(table.process_noise) == pytest.approx([-spread, spread])
    assert Table.read(written(HEADER, row(100))).process_noise == ()


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (row(outcome="fine"), "outcome is 'fine'; it is one of ok, oom"),
        (row(outcome="pruned"), "outcome is 'pruned'"),
        ({**row(), "settings": {"num_wokers": 2}}, "did you mean 'num_workers'?"),
        ({"outcome": "ok", "blocks": [block(9)]}, "settings is None; write them by name"),
        (row(blocks=[]), "blocks is empty; an ok trial has at least one"),
        (row(blocks=[block(9), {"steps": 0}]), "blocks[1] has steps 0; it is a number above 0"),
        (row(warmup_blocks=[block(9, data_wait_s=3)]), "warmup_blocks[0] has data_wait_s 3"),
        (row(startup_s=-1), "startup_s is -1; it is a number of seconds from 0"),
        (row(blocks=[block(9) | {"seconds": float("nan")}]), "blocks[0] has seconds nan"),
        (row(workers=77), "num_workers is 77, and in the space it is no value of its knob; add"),
        ({**row(), "settings": {"amp": "bf16"}}, "it is no knob, and 'none' in the baseline; add"),
        (row(wall_s=float("nan")), "wall_s is nan; it is a number of seconds from 0"),
        ([1, 2], "no JSON object: '[1, 2]'"),
        (row(startup_s=10**400), "startup_s is 1000"),
        (row(lost_share="a"), "lost_share is 'a'; it is a number from 0"),
        (row(gpu=5), "gpu is 5; it is a mapping of names to numbers"),
        (row(notes=7), "notes is 7; it is a list of"),
        (row(num_workers="a"), "num_workers is 'a'; it is a whole number from 0"),
        (row(num_workers=None), "num_workers is None; it is a whole number from 0"),
        (row(n_epoch_steps=-1), "n_epoch_steps is -1; it is a whole number from 1"),
        (row(tokens_per_sample="a"), "tokens_per_sample is 'a'; it is a number from 0"),
        (row(peak_host_bytes="x"), "peak_host_bytes is 'x'; it is a whole number from 0"),
        (row(epochs_in_blocks="x"), "epochs_in_blocks is 'x'; it is true or false"),
        (row(outcome="crash", reason=5), "reason is 5; it is a text"),
        (row(blocks=[block(9, at_step="x")]), "blocks[0].at_step is 'x'; it is a whole number"),
        (row(blocks=[block(9, loss="low")]), "blocks[0].loss is 'low'; it is a number"),
        (
            row(blocks=[{"steps": 10**400, "samples": 1, "seconds": 1}]),
            "...; it is a number from 1e-09 to 1e+18",
        ),
        (
            row(blocks=[{"steps": 1, "samples": 1, "seconds": 1e-300}]),
            "blocks[0] has seconds 1e-300; it is a number from 1e-09",
        ),
    ],
)
def test_the_checker_names_file_and_line_of_what_is_wrong(written, line, says, capsys):
    path = written(HEADER, row(), line)
    _, (fault,) = lines_of(path)
    assert fault.startswith(f"{path}:3: ") and says in fault
    with pytest.raises(UserInputError, match="table.jsonl:3"):
        Table.read(path)
    assert main([str(path)]) == 2
    assert says in capsys.readouterr().out


@pytest.mark.parametrize(
    ("header", "says"),
    [
        ({**HEADER, "table": 2}, "table is 2; the first line describes the table"),
        ({**HEADER, "workload": "mine"}, "workload is 'mine'"),
        ({**HEADER, "space": {}}, "space is {}; write each knob"),
        ({**HEADER, "space": {"amp": [1]}}, "space.amp is [1]; it takes choices, or low and high"),
        ({**HEADER, "facts": []}, "facts is []"),
        ({**HEADER, "settings": {"amp": "fp8"}}, "amp is 'fp8'"),
        ({**HEADER, "workload": {"name": "a/../b"}}, "a name that a folder can have"),
        ({**HEADER, "workload": {"name": "w", "args": [1]}}, "workload.args is [1]"),
        ({**HEADER, "workload": {"name": "w", "words": 5}}, "workload.words is 5; it is a list"),
        ({**HEADER, "workload": {"name": "w", "function": 5}}, "workload.function is 5"),
        ({**HEADER, "workload": {"name": "w", "args": {"a": "\ud800"}}}, "half a character"),
        ({**HEADER, "space": {"amp": {"choices": ["none"], "when": 7}}}, "space.amp.when is 7"),
        ({**HEADER, "space": {"amp": {"choices": "abc"}}}, "space.amp.choices is 'abc'"),
        ({**HEADER, "space": {"amp": {"choices": [[1]]}}}, "space.amp: amp is [1]; it takes one"),
        ({**HEADER, "space": {"apm": {"choices": [1]}}}, "unknown setting 'apm'; did you mean"),
        ({**HEADER, "space": {"num_workers": {"low": 0, "high": 10**30}}}, "num_workers.high is"),
        ({**HEADER, "space": {"apm": {"choices": "auto"}}}, "unknown setting 'apm'; did you mean"),
        ({**HEADER, "facts": {"cores": "x"}}, "facts.cores is 'x'; it is a whole number from 1"),
        ({**HEADER, "facts": {"cores": None}}, "facts.cores is None"),
        ({**HEADER, "facts": {"device": "cuda:x"}}, "facts.device is 'cuda:x'; it is cpu, cuda"),
        ({**HEADER, "facts": {"gpus": [{"name": "a"}]}}, "facts.gpus is [{'name': 'a'}]"),
    ],
)
def test_the_checker_knows_a_wrong_first_line(written, header, says):
    _, (fault,) = lines_of(written(header, row()))
    assert "table.jsonl:1: " in fault and says in fault


def test_a_table_without_its_baseline_or_without_anything_is_none(written, tmp_path, capsys):
    (fault,) = lines_of(written(HEADER, row(workers=2)))[1]
    assert "the baseline, with which every study begins" in fault
    (fault,) = lines_of(written())[1]
    assert "it is empty" in fault
    (fault,) = lines_of(tmp_path / "nowhere.jsonl")[1]
    assert "cannot be read" in fault
    assert main([]) == 2
    assert main([str(written(HEADER, row()))]) == 0
    assert "1 lines, nothing is wrong" in capsys.readouterr().out


def test_a_packed_table_is_read_and_a_damaged_one_is_told(written):
    plain = written(HEADER, row(), row(workers=2))
    packed = plain.with_name("table.jsonl.gz")
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    assert lines_of(packed) == lines_of(plain)
    for damaged in (packed.read_bytes()[:-20], plain.read_bytes()):
        packed.write_bytes(damaged)
        (fault,) = lines_of(packed)[1]
        assert "cannot be read" in fault


def test_a_cut_last_line_is_told_from_other_garbage(written):
    path = written(HEADER, row())
    path.write_text(path.read_text() + '{"settings": {')
    (fault,) = lines_of(path)[1]
    assert ":3: the line is cut off, as a killed recorder leaves it" in fault


@pytest.mark.parametrize("line", ["[" * 100_000, '{"a":' * 30 + "1" + "}" * 30])
def test_a_line_that_is_nested_without_end_is_no_object(written, line):
    path = written(HEADER, row())
    path.write_text(path.read_text() + line + "\n")
    (fault,) = lines_of(path)[1]
    assert ":3: no JSON object" in fault and "not nested deeper than 20 levels" in fault


def test_keys_without_a_value_and_keys_of_others_are_no_faults(written):
    free = row(blocks=[block(9, loss=float("nan"), n_ready=None, mine="x")], tokens_per_sample=None)
    assert (
        lines_of(written({**HEADER, "facts": {"shm_free_bytes": None, "mine": []}}, free))[1] == []
    )


def test_a_pass_in_which_the_machine_was_slower_is_no_noise(written):
    rates = [100.0 + 10 * i for i in range(9)]
    first = [row(rate, workers) for workers, rate in enumerate(rates)]
    second = [row(0.8 * rate, workers) for workers, rate in enumerate(rates)]
    table = Table.read(written(HEADER, *first, *second[:-1], row(0.88 * rates[-1], workers=8)))
    assert table.paces == (1.0, pytest.approx(0.8))
    assert table.true_rate(Settings()) == pytest.approx(100)
    assert [noise == pytest.approx(0) for noise in table.process_noise].count(False) == 2
    assert table.true_rate(Settings(num_workers=8)) == pytest.approx(180 * 1.1**0.5)


def test_of_a_few_repeats_no_pace_is_told(written):
    table = Table.read(written(HEADER, row(), row(workers=2), row(50.0), row(80.0, workers=2)))
    assert table.paces == (1.0, 1.0)


def test_a_text_in_a_line_may_hold_what_ends_lines_elsewhere(tmp_path):
    path = tmp_path / "table.jsonl"
    lines = [HEADER, row(), row(outcome="crash", reason="one\u2028two\x85three")]
    texts = [json.dumps(line, ensure_ascii=False) for line in lines]
    for ends in ("\n", "\r\n"):
        path.write_bytes("".join(text + ends for text in texts).encode())
        assert lines_of(path) == (lines, [])
    path.write_bytes("\n".join(texts).encode())
    assert lines_of(path) == (lines, [])


def test_auto_stands_for_what_the_lines_have_and_not_for_this_machine(written):
    when = {"knob": "num_workers", "above": 0}
    space = {
        "num_workers": {"low": 0, "high": "auto"},
        "prefetch_factor": {"choices": "auto", "when": when},
        "intraop_threads": {"choices": "auto"},
    }
    others = [
        {"num_workers": 3, "prefetch_factor": 8, "intraop_threads": 2},
        {"num_workers": 1, "prefetch_factor": 2},
    ]
    rows = [row(), *({**row(), "settings": settings} for settings in others)]
    (header, *_), faults = lines_of(written({**HEADER, "space": space}, *rows))
    assert not faults
    assert header["space"] == {
        "num_workers": {"choices": [0, 1, 3]},
        "prefetch_factor": {"choices": [2, 8], "when": when},
        "intraop_threads": {"choices": [None, 2]},
    }
    assert lines_of(written({**HEADER, "space": space}, row()))[0][0]["space"][
        "prefetch_factor"
    ] == {"choices": [2], "when": when}
