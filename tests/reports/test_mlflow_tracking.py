"""Real MLflow on SQLite."""

import math
import shutil
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from hotlap.settings import Settings
from reports.mlflow_tracking import MlflowTracking
from reports.mlflow_uri import tracking_uri
from reports.open_tracking import run_that_ends
from reports.result import write_json
from reports.table import markdown
from reports.tracking import ended_record, run_record, study_record, trial_record
from tests.reports.told import FACTS, TUNED, runs_of, tell_a_study

# MLflow's own dependencies warn when they are imported; hotlap cannot mend that.
pytestmark = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::PendingDeprecationWarning"
)


def test_a_study_is_one_run_and_each_trial_a_nested_one(
    database, tmp_path, measurement, result, capfd
):
    warnings: list[str] = []
    threads = threading.active_count()
    tracking = MlflowTracking(tmp_path, database, warn=warnings.append)
    tracking.study_started(study_record("s1", "resnet50", FACTS, {"torch": "2.14"}, "0a1b"))
    tracking.trial(
        trial_record("s1", 0, TUNED, "ok", measurement, wall_s=9.0, baseline_samples_per_s=305.0)
    )
    tracking.trial(trial_record("s1", 1, Settings(), "oom", reason="needs 12 GiB"))
    write_json(result, tmp_path / "result.json")
    tracking.study_ended(ended_record("s1", "finished", result), [tmp_path / "result.json"])
    tracking.close()

    assert warnings == []
    runs = runs_of(tracking.uri)
    assert sorted(runs) == ["0 workers=2 channels_last", "1 oom", "s1"]
    [parent], [ok], [oom] = runs["s1"], runs["0 workers=2 channels_last"], runs["1 oom"]

    assert ok.data.tags["mlflow.parentRunId"] == oom.data.tags["mlflow.parentRunId"]
    assert ok.data.tags["mlflow.parentRunId"] == parent.info.run_id
    assert ok.data.params["num_workers"] == "2"
    assert ok.data.params["intraop_threads"] == "default"
    assert "prefetch_factor" not in oom.data.params
    assert ok.data.metrics["samples_per_s"] == pytest.approx(609.52, rel=1e-3)
    assert ok.data.metrics["speedup"] == pytest.approx(2.0, rel=0.01)
    assert ok.data.metrics["gpu_power_w"] == 300.0
    assert ok.data.tags["changed"] == "num_workers=2 memory_format=channels_last"
    assert ok.data.tags["fact.gpu.name"] == "H200"
    assert ok.data.tags["version.torch"] == "2.14"
    assert ok.info.end_time - ok.info.start_time == 9000
    assert (ok.info.status, oom.info.status) == ("FINISHED", "FAILED")
    assert (oom.data.tags["outcome"], oom.data.tags["reason"]) == ("oom", "needs 12 GiB")

    assert parent.info.status == "FINISHED"
    assert parent.data.metrics["speedup"] == 2.02
    assert parent.data.metrics["speedup_low"] == 1.98
    assert parent.data.metrics["baseline_samples_per_s"] == 401.2
    assert "| **winner** |" in parent.data.tags["mlflow.note.content"]
    assert parent.data.tags["mlflow.source.git.commit"] == "0a1b"
    [artifact] = (tmp_path / "mlartifacts").rglob("result.json")
    assert parent.info.run_id in str(artifact)

    assert capfd.readouterr() == ("", "")
    assert threading.active_count() == threads


def test_records_sent_twice_are_there_once(database, tmp_path, measurement):
    tell_a_study(MlflowTracking(tmp_path, database), measurement)
    # The tuner was killed before it could note that they were sent.
    journal = tmp_path / "tracking.jsonl"
    journal.write_text("\n".join(x for x in journal.read_text().split("\n") if '"sent"' not in x))
    for _ in range(2):
        resumed = MlflowTracking(tmp_path, database)
        resumed.send_missing()
        resumed.study_started(study_record("s1", "resnet50", FACTS, {"torch": "2.14"}))
        resumed.send_missing()
        resumed.close()
    runs = runs_of(resumed.uri)
    assert {name: len(found) for name, found in runs.items()} == {
        "s1": 1,
        "0 workers=2 channels_last": 1,
        "1 workers=2 channels_last": 1,
    }


def test_long_values_and_odd_names_are_no_reason_to_refuse(database, tmp_path, measurement):
    warnings: list[str] = []
    tracking = MlflowTracking(tmp_path, database, warn=warnings.append)
    name = 'a "study" of ' + "x" * 100
    tracking.study_started(study_record(name, "w" * 9000, {"a@b=c": "v" * 9000}, {}))
    tracking.trial(
        trial_record(name, 0, Settings(cuda_alloc_conf="c" * 9000), "crash", reason="r" * 9000)
    )
    tracking.close()
    assert warnings == []
    [trial] = [run for found in runs_of(tracking.uri).values() for run in found if run.data.params]
    assert trial.data.params["cuda_alloc_conf"].startswith("ccc")
    assert trial.data.tags["fact.a_b_c"].startswith("vvv")


def test_a_refused_record_warns_once_and_the_next_ones_arrive(database, tmp_path, measurement):
    warnings: list[str] = []
    tracking = MlflowTracking(tmp_path, database, warn=warnings.append)
    tell_a_study(tracking, measurement, trials=[0])
    # MLflow never changes a parameter, so this one is refused.
    tracking.trial(trial_record("s1", 0, Settings(num_workers=7), "ok", measurement))
    tracking.trial(trial_record("s1", 1, TUNED, "ok", measurement))
    tracking.study_ended(ended_record("s1", "finished"), [])
    assert len(warnings) == 1
    assert "num_workers" in warnings[0] or "param" in warnings[0]
    assert "1 workers=2 channels_last" in runs_of(tracking.uri)


def test_a_full_run_is_a_curve_tied_to_its_study(database, tmp_path):
    for session in range(2):  # the second one resumes it
        tracking = MlflowTracking(tmp_path, database)
        tracking.run_started(run_record("r1", "resnet50", TUNED, "s1", FACTS, {"torch": "2"}))
        for step in range(session * 150, session * 150 + 150):
            tracking.run_metrics(step, {"loss": 300.0 - step, "samples_per_s": float("nan")})
        tracking.run_ended({"state": "finished", "metrics": {"wall_s": 5.0}}, [])
        tracking.close()
    from mlflow import MlflowClient

    [run] = runs_of(tracking.uri)["full run of resnet50"]
    assert run.data.tags["hotlap.study"] == "s1"
    assert run.data.params["num_workers"] == "2"
    assert run.info.status == "FINISHED"
    history = MlflowClient(tracking.uri).get_metric_history(run.info.run_id, "loss")
    assert [(m.step, m.value) for m in history] == [(i, 300.0 - i) for i in range(300)]


def test_the_environments_server_wins_and_it_is_said(tmp_path, monkeypatch):
    database = tmp_path / "mlflow.db"
    assert tracking_uri(database) == f"sqlite:///{database}"
    assert tracking_uri(database, "http://a") == "http://a"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://b")
    warnings: list[str] = []
    assert MlflowTracking(tmp_path, database, "http://a", warn=warnings.append).uri == "http://b"
    assert warnings == ["MLFLOW_TRACKING_URI=http://b is set and wins over tracking.uri=http://a"]


def test_the_command_to_type_works_in_any_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tracking = MlflowTracking(tmp_path, tmp_path / "x.db", uri="sqlite:///my runs.db")
    assert tracking.ui_command() == (
        f"mlflow ui --backend-store-uri 'sqlite:///{tmp_path}/my runs.db'"
    )


@pytest.mark.parametrize("name", ["what?", "c#", "100%", "%41", "a b&c=d"])
def test_a_path_with_characters_that_mean_something_in_a_url_is_a_path(
    tmp_path, empty_database, measurement, name, monkeypatch
):
    folder = tmp_path / name
    folder.mkdir()
    database = Path(shutil.copy(empty_database, folder / "mlflow.db"))
    (folder / "frozen.yaml").write_text("settings: {}\n")
    warnings: list[str] = []
    tracking = MlflowTracking(folder, database, warn=warnings.append)
    tell_a_study(tracking, measurement)
    tracking.study_ended(ended_record("s1", "finished"), [folder / "frozen.yaml"])
    tracking.close()
    assert warnings == []
    assert [path for path in tmp_path.rglob("mlflow.db")] == [database]
    assert len(runs_of(tracking.uri)) == 3
    assert len(list((folder / "mlartifacts").rglob("frozen.yaml"))) == 1
    monkeypatch.chdir(folder)
    assert tracking_uri(folder / "x.db", "sqlite:///mlflow.db") == tracking.uri


def test_a_study_that_ended_early_says_so_in_its_description(database, tmp_path):
    for study, state in (("s1", "failed"), ("s2", "interrupted")):
        tracking = MlflowTracking(tmp_path, database)
        tracking.study_started(study_record(study, "resnet50", FACTS, {}))
        tracking.study_ended(ended_record(study, state, reason="class 10 of 10"), [])
        tracking.close()
        (run,) = runs_of(tracking.uri)[study]
        note = run.data.tags["mlflow.note.content"]
        assert note == f"**{study}**, a study of hotlap: {state}; class 10 of 10"


@pytest.mark.parametrize("state", ["interrupted", "failed"])
def test_the_table_of_a_finished_study_outlives_a_session_that_ends_early(
    database, tmp_path, result, state
):
    def session(*ends):
        tracking = MlflowTracking(tmp_path, database)
        tracking.study_started(study_record("s1", "resnet50", FACTS, {}))
        seen.append(note(tracking))
        for end in ends:
            tracking.study_ended(end, [])
        seen.append(note(tracking))
        tracking.close()

    def note(tracking):
        (run,) = runs_of(tracking.uri)["s1"]
        return run.data.tags["mlflow.note.content"]

    seen: list[str] = []
    session(ended_record("s1", "finished", result))
    table = markdown(result).strip()
    running = "**resnet50**, a study of hotlap. It is not finished yet."
    assert seen == [running, table]
    seen.clear()
    early = ended_record("s1", state, reason="to go on: resume=there")
    session(early)
    session(early)
    assert seen == [f"{table}\n\n{running}", f"{table}\n\n{early['note']}"] * 2
    session(ended_record("s1", "finished", result))
    assert seen[-1] == table


def test_a_long_table_leaves_room_for_how_to_go_on(database, tmp_path, result):
    many = {f"what for {i}": "x" * 600 for i in range(20)}
    long = ended_record("s1", "finished", replace(result, commands=many))
    early = ended_record("s1", "interrupted", reason="to go on: resume=there")
    tracking = MlflowTracking(tmp_path, database)
    tracking.study_started(study_record("s1", "resnet50", FACTS, {}))
    for end in (long, early):
        tracking.study_ended(end, [])
    tracking.close()
    (run,) = runs_of(tracking.uri)["s1"]
    note = run.data.tags["mlflow.note.content"]
    assert note.startswith("|") and note.endswith("...\n\n" + early["note"])
    assert len(note) == 5000


def test_what_an_earlier_session_proved_keeps_its_figures_until_it_is_frozen_no_longer(
    database, tmp_path, measurement, result
):
    nothing = replace(result, winner=result.baseline, earlier="What an earlier session proved.")
    tracking = MlflowTracking(tmp_path, database)
    tell_a_study(tracking, measurement, trials=[0])
    names = ("speedup", "speedup_low", "samples_per_s")
    stands = []
    for found in (result, replace(nothing, kept=True), nothing):
        tracking.study_ended(ended_record("s1", "finished", found), [])
        (run,) = runs_of(tracking.uri)["s1"]
        stands.append(([run.data.metrics[name] for name in names], run.data.tags["changed"]))
    tracking.close()
    assert stands[0] == stands[1] and stands[0][0] == [2.02, 1.98, 812.4]
    (speedup, low, rate), changed = stands[2]
    assert (speedup, rate, changed) == (1, 401.2, "nothing changed") and math.isnan(low)


@pytest.mark.parametrize(
    ("error", "status"), [(ZeroDivisionError, "FAILED"), (KeyboardInterrupt, "KILLED")]
)
def test_a_full_run_that_breaks_does_not_run_for_ever(database, tmp_path, error, status):
    tracking = MlflowTracking(tmp_path, database)
    with pytest.raises(error), run_that_ends(tracking, lambda: "to go on: resume=there"):
        tracking.run_started(run_record("a run", "resnet50", TUNED))
        raise error
    ((run,),) = runs_of(tracking.uri).values()
    assert run.info.status == status
