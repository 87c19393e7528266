import json
import shutil
from pathlib import Path

import pytest
from simulated import Clock, SimulatedRunner, Watching

from hotlap.errors import StudyFailed
from hotlap.job import Job, Window
from hotlap.measurement import Measurement
from hotlap.settings import Settings
from objectives import Throughput
from runners.protocol import Run
from studies import Lab, known_facts


class Answers:
    """A runner that gives one answer and remembers the job."""

    def __init__(self, run):
        self._run = run
        self.jobs = []

    def clock(self):
        return 0.0

    def run(self, job, folder, watch, timeout_s, within_s=None):
        self.jobs.append(job)
        for event in self._run.events:
            assert not watch(event)
        return self._run

    def close(self):
        pass


def lab_of(runner, folder):
    return Lab(runner, Job("simulated.workload", window=Window()), folder, Throughput(), Watching())


def test_the_workloads_facts_come_from_a_probe_in_a_worker(tmp_path):
    events = ({"event": "started"}, {"event": "facts", "facts": {"device": "cpu"}})
    runner = Answers(Run("ok", Measurement(()), events=events, process_start_s=2.5))
    assert lab_of(runner, tmp_path).facts(10) == {"device": "cpu", "process_start_s": 2.5}
    assert runner.jobs[0].kind == "probe"


def test_a_workload_that_cannot_be_built_stops_the_study_with_its_own_traceback(tmp_path):
    run = Run("crash", Measurement(()), "FileNotFoundError: rows.pt", "in my_data\nFileNotFound")
    with pytest.raises(StudyFailed) as caught:
        lab_of(Answers(run), tmp_path).facts(10)
    assert str(caught.value).startswith("in my_data\nFileNotFound\n")
    assert "FileNotFoundError: rows.pt (crash). No trial was run" in str(caught.value)


@pytest.mark.parametrize(
    ("events", "script", "cure"),
    [
        ([{"event": "probing", "batch_size": 128}], None, "type model.batch_size=64"),
        ([{"event": "probing", "batch_size": 1}], None, "only a smaller model would do"),
        ([], None, "type a smaller size, as model.batch_size=4"),
        ([], {"target": "train.py"}, "give the script a smaller batch, in its text or by its own"),
    ],
)
def test_a_probe_without_memory_says_what_to_type_and_no_traceback(tmp_path, events, script, cure):
    words = "OutOfMemoryError: CUDA out of memory"
    run = Run("oom", Measurement(()), words, "in my_model\n" * 40, tuple(events))
    job = Job("my_job.make", window=Window(), script=script)
    lab = Lab(Answers(run), job, tmp_path, Throughput(), Watching())
    with pytest.raises(StudyFailed) as caught:
        lab.facts(100)
    assert "in my_model" not in str(caught.value)
    assert f"{words}. Nothing else was tried; " in str(caught.value)
    assert cure in str(caught.value)


def test_a_probe_that_the_budget_cuts_off_is_no_fault_of_the_workloads(tmp_path):
    run = Run("timeout", Measurement(()), "no end", "in my_data", wall_s=50.0)
    with pytest.raises(StudyFailed, match="the budget is too short: it left 50 s .* budget=30m"):
        lab_of(Answers(run), tmp_path).facts(50.0)
    soon = Run("timeout", Measurement(()), "no end", "in my_data", wall_s=7.0)
    with pytest.raises(StudyFailed, match="it left 7 s .* some thirty times that: budget=5m"):
        lab_of(Answers(soon), tmp_path).facts(7.0)
    with pytest.raises(StudyFailed, match="The workload fails with its own settings"):
        lab_of(Answers(run), tmp_path).facts(60.0)  # it was ended for its silence


def test_windows_need_to_be_no_more_precise_than_processes_are_alike(tmp_path):
    runner = Answers(Run("ok", Measurement(())))
    lab = lab_of(runner, tmp_path)
    for spread in (0.0, 0.001, 0.14, 0.03):
        lab.expect_noise(spread)
        lab.measure("search", Settings(), 10)
    assert [job.window.precision for job in runner.jobs] == [0.02, 0.02, 0.14, 0.03]


def test_facts_are_asked_once_and_kept_for_the_next_session(tmp_path):
    asked = []

    def ask():
        asked.append(1)
        return {"cores": 2}

    assert known_facts(tmp_path, ask) == known_facts(tmp_path, ask) == {"cores": 2}
    assert len(asked) == 1
    assert json.loads((tmp_path / "facts.json").read_text()) == {"cores": 2}


def test_trials_are_numbered_on_from_the_folders_that_are_there(tmp_path):
    (tmp_path / "trials" / "0007").mkdir(parents=True)
    lab = lab_of(SimulatedRunner(Clock(), lambda settings: 100.0), tmp_path)
    trial = lab.measure("search", Settings(), 1000)
    assert (trial.number, trial.run.folder) == (8, tmp_path / "trials" / "0008")
    refused = lab.refuse("search", Settings(), "no room")
    assert (refused.number, refused.run.outcome, refused.run.reason) == (9, "invalid", "no room")
    assert len(list(Path(tmp_path / "trials").iterdir())) == 3


def test_a_trial_knows_whether_its_time_was_over_or_its_patience(tmp_path):
    clock = Clock()
    runner = SimulatedRunner(clock, lambda settings: 100.0, lambda settings: "hang")
    lab = lab_of(runner, tmp_path)
    cut = lab.measure("search", Settings(), 20)
    hung = lab.measure("search", Settings(), 1000)
    assert (cut.run.outcome, cut.ran_out) == ("timeout", True)
    assert (hung.run.outcome, hung.ran_out) == ("timeout", False)
    assert lab.typical_s() == 0.0


def test_a_trials_usual_time_is_the_median_of_those_that_ended_well(tmp_path):
    clock = Clock()
    lab = lab_of(SimulatedRunner(clock, lambda settings: 100.0), tmp_path)
    lab.measure("search", Settings(), 1000)
    stopped = lab.measure("search", Settings(), 1000, lambda warmup, window: len(window) > 1)
    assert stopped.run.outcome == "pruned"
    assert lab.typical_s() == pytest.approx(2 + 2 + 8)


def test_what_trials_took_in_an_earlier_session_counts_until_one_has_ended(tmp_path):
    lab = lab_of(SimulatedRunner(Clock(), lambda settings: 100.0), tmp_path)
    lab.expect(30.0)
    assert lab.typical_s() == 30.0
    lab.measure("search", Settings(), 1000)
    assert lab.typical_s() == pytest.approx(2 + 2 + 8)


def test_a_trial_stopped_in_its_warmup_has_the_rate_of_its_last_block(tmp_path):
    lab = lab_of(SimulatedRunner(Clock(), lambda s: 100.0, block_noise=0.0), tmp_path)
    trial = lab.measure("search", Settings(), 1000, lambda warmup, window: len(warmup) == 2)
    assert trial.run.outcome == "pruned" and not trial.run.measurement.blocks
    assert trial.value == pytest.approx(100.0)


def test_a_trial_that_removes_the_studys_folder_ends_the_study(tmp_path):
    class Removes(Answers):
        def run(self, job, folder, watch, timeout_s, within_s=None):
            shutil.rmtree(tmp_path / "study")
            return super().run(job, folder, watch, timeout_s)

    (tmp_path / "study").mkdir()
    lab = lab_of(Removes(Run("ok", Measurement(()))), tmp_path / "study")
    with pytest.raises(StudyFailed, match="has removed the study's folder"):
        lab.measure("search", Settings(), 10)


class Probes(Answers):
    """A runner whose script is probed with what some package of its writes, or without."""

    def run(self, job, folder, watch, timeout_s, within_s=None):
        fresh = bool(job.script.get("fresh"))
        facts = {"fresh": fresh, "environment_written": [] if fresh else ["OMP_NUM_THREADS"]}
        self._run = Run("ok", Measurement(()), events=({"event": "facts", "facts": facts},))
        return super().run(job, folder, watch, timeout_s)


def test_a_script_that_writes_what_torch_reads_first_is_probed_again_and_run_in_fresh_processes(
    tmp_path,
):
    runner, watching = Probes(None), Watching()
    job = Job("", window=Window(), script={"target": "train.py", "fresh": False})
    facts = Lab(runner, job, tmp_path, Throughput(), watching).facts(100)
    assert facts == {"fresh": True, "process_start_s": 0.0}
    assert [job.script["fresh"] for job in runner.jobs] == [False, True]
    # A resumed study has kept the facts, and its probe is fresh at once.
    Lab(runner, job, tmp_path, Throughput(), watching).facts(100, facts["fresh"])
    assert [job.script["fresh"] for job in runner.jobs] == [False, True, True]
    lab = Lab(runner, job, tmp_path, Throughput(), watching)
    lab.own_way({}, {}, facts["fresh"])
    assert lab._job.script["fresh"] is True
