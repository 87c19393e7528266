import json
import math
import os
import time

import pytest

from benchmarks import trial_overhead
from benchmarks.fresh_tune import FreshRunner
from benchmarks.machine import Unmeasured
from benchmarks.trial_overhead import Gap
from hotlap.job import Job, Window
from tests.conftest import ROOT

OFFSET = time.time() - time.monotonic()


def write_trial(folder, number, ordered, events, settings=None):
    trial = folder / "trials" / f"{number:04d}"
    trial.mkdir(parents=True)
    Job("mine.work", settings=settings or {}).write(trial)
    os.utime(trial / "job.json", (ordered + OFFSET, ordered + OFFSET))
    lines = [json.dumps({"event": name, "t": t}) for name, t in events]
    (trial / "events.jsonl").write_text("\n".join(lines) + "\n")


def write_results(folder, told):
    lines = [{"number": 9, "kind": "study_started", "record": {}}, {"sent": [9]}]
    for number, t in told.items():
        record = {"trial": number, "time_ms": (t + OFFSET) * 1e3}
        lines.append({"number": number, "kind": "trial", "record": record})
    text = "".join("\n" + json.dumps(line) + "\n" for line in lines)
    (folder / "tracking.jsonl").write_text(text)


def test_a_gap_goes_from_the_end_of_a_window_to_the_next_build(tmp_path):
    finished = [("started", 101.0), ("built", 102.0), ("block", 103.0), ("timed", 104.0)]
    write_trial(tmp_path, 0, 100.0, [*finished, ("finished", 104.5)])
    write_trial(tmp_path, 1, 106.0, [("started", 106.3), ("built", 107.0), ("warmup", 108.0)])
    write_results(tmp_path, {0: 105.0, 1: 109.0})
    (gap,) = trial_overhead.gaps(tmp_path)
    assert gap.number == 1
    assert gap.end_s == pytest.approx(1.0, abs=0.01)
    assert gap.tell_s == pytest.approx(1.0, abs=0.01)
    assert gap.start_s == pytest.approx(0.3, abs=0.01)
    assert gap.all_s == pytest.approx(2.3, abs=0.01)


def test_a_stopped_trial_ends_with_the_last_that_was_heard_of_it(tmp_path):
    write_trial(tmp_path, 0, 100.0, [("started", 101.0), ("warmup", 102.0)])
    write_trial(tmp_path, 1, 103.0, [("started", 103.0)])
    write_results(tmp_path, {0: 102.5, 1: 104.0})
    (gap,) = trial_overhead.gaps(tmp_path)
    assert gap.end_s == pytest.approx(0.5, abs=0.01)


def test_the_first_trial_in_an_environment_is_told_apart(tmp_path):
    for number, threads in enumerate([None, 2, 2, None]):
        t = 100.0 + number
        settings = {"intraop_threads": threads}
        write_trial(tmp_path, number, t, [("started", t), ("timed", t + 0.1)], settings)
    write_results(tmp_path, {n: 100.5 + n for n in range(4)})
    assert [g.new_environment for g in trial_overhead.gaps(tmp_path)] == [True, False, False]


def test_the_table_puts_both_studies_side_by_side():
    forked = [Gap(1, 0.1, 0.1, 0.0, False), Gap(2, 0.1, 0.1, 3.8, True)]
    fresh = [Gap(1, 0.1, 0.1, 4.0, False)]
    lines = {line[:30].strip(): line[30:].split() for line in _table(forked, fresh)}
    assert lines["known environment, median"] == ["0.200", "4.200"]
    assert lines["new environment, median"] == ["4.000", "-"]
    assert lines["all, 90 % quantile"] == ["4.000", "4.200"]
    assert lines["trials"] == ["2", "1"]


def test_without_a_second_study_its_column_is_empty():
    lines = _table([Gap(1, 0.1, 0.1, 0.0, False)], [])
    assert all(line.split()[-1] == "-" for line in lines[1:])


def test_the_quantile_is_a_value_that_was_seen():
    assert trial_overhead.quantile([5.0, 1.0, 2.0, 3.0, 4.0], 0.9) == 5.0
    assert trial_overhead.quantile([float(n) for n in range(1, 11)], 0.9) == 9.0
    assert math.isnan(trial_overhead.quantile([], 0.9))


def test_a_study_that_fails_is_told_in_its_own_words():
    with pytest.raises(Unmeasured, match="nothing_here(.|\\n)*tune.py ended with code 2$"):
        trial_overhead.main(["--no-fresh", "nothing_here=1"])


def test_the_claim_is_judged_without_the_alternative(monkeypatch, capsys):
    def study(folder, args, program):
        if folder.name == "fresh":
            raise Unmeasured("tune.py ended with code 1")
        return folder

    monkeypatch.setattr(trial_overhead, "study", study)
    monkeypatch.setattr(trial_overhead, "gaps", lambda folder: [Gap(1, 0.1, 0.1, 0.0, False)])
    assert trial_overhead.main([]) == 0
    out = capsys.readouterr().out
    assert "tune.py ended with code 1" in out and "measured 0.200 s, so it holds" in out


@pytest.mark.slow
def test_a_fresh_runner_has_a_new_interpreter_for_each_trial(tmp_path):
    window = Window(max_s=0.1, min_s=0.05, block_s=0.02, max_warmup_s=0.1)
    job = Job("small_job.workload", window=window, import_path=(str(ROOT / "tests" / "hotlap"),))
    servers = []
    with FreshRunner(preload=("torch",)) as runner:
        for name in ("a", "b"):
            pid = []

            def watch(event, pid=pid):
                if event["event"] == "started":
                    pid.append(_parent(event["pid"]))
                return False

            assert runner.run(job, tmp_path / name, watch, 120).outcome == "ok"
            servers += pid
    assert len(set(servers)) == 2


def _parent(pid):
    with open(f"/proc/{pid}/stat") as file:
        return int(file.read().rpartition(")")[2].split()[1])


def _table(forked, fresh):
    return trial_overhead.table(forked, fresh).splitlines()
