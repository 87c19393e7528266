"""`runner=replay` takes its subject from the table, and `record=` is checked."""

import json

import pytest

from benchmarks.synthetic_table import write
from conf.recorded import header
from conf.workload import job_of, script_of
from hotlap.job import Job
from hotlap.settings import Settings
from search_spaces import Space


@pytest.fixture
def table(tmp_path):
    return write(tmp_path / "table.jsonl")


def test_a_replay_needs_no_model_and_takes_everything_from_the_table(ask, table):
    ran = ask("runner=replay", "runner.table=table.jsonl", "budget=5m", "sampler=random")
    assert ran.code == 0, ran.err
    (config,) = ran.configs
    assert config.runner.name == "replay" and config.runner.table == str(table)
    assert config.name == "synthetic" and config.tracking.name == "none"
    assert list(config.search_space) == list(json.loads(table.read_text().splitlines()[0])["space"])
    assert config.search_space["num_workers"].choices == [0, 1, 2, 4, 8]
    assert config.search_space["prefetch_factor"].when.above == 0
    assert config.search_space["amp"].numerics == "precision"
    assert config.settings["num_workers"] == 0
    assert job_of(config) == ("synthetic", {})
    assert (config.budget, config.sampler.name) == ("5m", "random")


def test_a_table_keeps_the_function_and_the_words_of_its_full_run(ask, tmp_path):
    path = write(tmp_path / "table.jsonl")
    first, _, rest = path.read_text().partition("\n")
    header = json.loads(first)
    header["workload"] = {"name": "mine", "function": "my.make", "args": {"width": 3}}
    header["workload"]["words"] = ["+model=mine", "model.width=3"]
    path.write_text(json.dumps(header) + "\n" + rest)
    assert ask("runner=replay", "runner.table=table.jsonl", "+model=digits_mlp").code == 2
    (config,) = ask("runner=replay", "runner.table=table.jsonl").configs
    assert job_of(config) == ("my.make", {"width": 3})
    assert config.name == "mine" and config.words == ["+model=mine", "model.width=3"]


def test_a_table_of_a_script_keeps_its_words_and_is_played_without_it(ask, tmp_path):
    path = write(tmp_path / "table.jsonl")
    first, _, rest = path.read_text().partition("\n")
    header = json.loads(first)
    words = ["script=train.py", "--", "--name", "${x}"]
    header["workload"] = {"name": "train", "words": words}
    path.write_text(json.dumps(header) + "\n" + rest)
    (config,) = ask("runner=replay", "runner.table=table.jsonl").configs
    assert config.name == "train" and config.words == words
    assert script_of(config) is None and job_of(config) == ("train", {})


def test_the_first_line_of_a_recording_says_which_script_it_is_about(ask, tmp_path):
    (tmp_path / "train.py").write_text("raise SystemExit('a script was run')\n")
    words = ["script=train.py", "override=[amp]", "record=t.jsonl", "sampler=brute_force"]
    (config,) = ask(*words, "--", "--lr", "0.1").configs
    job = Job("", script=script_of(config))
    workload = header(config, "train", job, Space([], Settings()), {})["workload"]
    assert workload["script"] == {
        "target": str(tmp_path / "train.py"),
        "args": ["--lr", "0.1"],
        "override": ["amp"],
        "cwd": str(tmp_path),
    }
    assert "function" not in workload


def test_a_script_beside_a_replay_is_refused(ask, table):
    (table.parent / "train.py").write_text("pass\n")
    ran = ask("runner=replay", "runner.table=table.jsonl", "script=train.py")
    assert ran.code == 2 and ran.err.startswith("1 mistake "), ran.err
    assert "'script=train.py' would change what the table has recorded" in ran.err


def test_mlflow_can_be_asked_for_in_a_replay(ask, table):
    ran = ask("runner=replay", "runner.table=table.jsonl", "tracking=mlflow")
    assert ran.configs[0].tracking.name == "mlflow"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "runner=replay plays a recorded table, and none is named"),
        (("runner.table=other.jsonl",), "other.jsonl: it cannot be read"),
        (("runner.table=broken.jsonl",), "broken.jsonl:2: no JSON object"),
        (("runner.table=table.jsonl", "search_space=[amp]"), "would change what the table has"),
        (("runner.table=table.jsonl", "settings.amp=bf16"), "'settings.amp=bf16' would change"),
        (("runner.table=table.jsonl", "+model=resnet18"), "recorded with synthetic, not with"),
        (
            ("runner.table=table.jsonl", "record=new.jsonl", "sampler=brute_force"),
            "record= would record trials that are only played",
        ),
    ],
)
def test_what_does_not_fit_a_replay_is_one_mistake_with_its_cure(ask, table, words, says):
    text = table.read_text().splitlines()
    (table.parent / "broken.jsonl").write_text("\n".join([text[0], "oh", *text[2:]]) + "\n")
    ran = ask("runner=replay", *words)
    assert ran.code == 2 and ran.err.startswith("1 mistake "), ran.err
    assert says in ran.err and "    type:  " in ran.err


@pytest.mark.parametrize(
    ("knob", "says", "cure"),
    [
        ({"low": 5, "high": 1}, "is 5, more than high, 1", "with space.num_workers.low=1"),
        ({"low": 5}, "the knob num_workers has no high", "with space.num_workers.high=4"),
        ({"choices": [0, 0]}, "has a choice twice", "with space.num_workers.choices=[0]"),
        ({"choices": [0], "when": {"knob": [1]}}, "when.knob is [1]", "with space.num_workers"),
        (
            {"choices": [0], "when": {"knob": "amp"}},
            "has neither above nor equals",
            "with space.num_workers.when={knob: amp, equals: none}",
        ),
    ],
)
def test_a_mistake_in_a_tables_space_is_looked_for_in_the_table(ask, table, knob, says, cure):
    first, _, rest = table.read_text().partition("\n")
    header = json.loads(first)
    header["space"]["num_workers"] = knob
    baseline, _, _ = rest.partition("\n")
    table.write_text(f"{json.dumps(header)}\n{baseline}\n")  # others lie outside of such a space
    ran = ask("runner=replay", "runner.table=table.jsonl")
    assert ran.code == 2 and ran.err.startswith("1 mistake "), ran.err
    assert says in ran.err and f"    where: {table}:1\n" in ran.err
    assert "type:  the first line of the table anew, " + cure in ran.err


def test_a_full_run_cannot_be_played(ask):
    ran = ask("runner=replay", "+model=digits_mlp", primary="train")
    assert ran.code == 2 and "a full run cannot be played" in ran.err


def test_a_recording_walks_the_whole_space(ask):
    ran = ask("+model=digits_mlp", "sampler=brute_force", "record=new table=1.jsonl")
    assert ran.code == 0, ran.err
    assert ran.configs[0].record == "new table=1.jsonl" and ran.configs[0].record_repeats == 1


@pytest.mark.parametrize(
    ("words", "says", "cure"),
    [
        (("record=t.jsonl",), "and the sampler is tpe", "sampler=brute_force"),
        (("record=.", "sampler=brute_force"), "not the name of a file", "record=table.jsonl"),
        (("record=/dev/null", "sampler=brute_force"), "no file that keeps", "record=table.jsonl"),
        (("record=/dev/null/x", "sampler=brute_force"), "null is no folder", "record=table.jsonl"),
        (("record=t.jsonl.gz", "sampler=brute_force"), "pack it afterwards", "record=table.jsonl"),
        (
            ("record=t.jsonl", "sampler=brute_force", "budget=5m"),
            "takes as long as the space needs",
            "n_trials=50",
        ),
        (
            ("record=t.jsonl", "sampler=brute_force", "record_repeats=0"),
            "record_repeats is 0",
            "record_repeats=1",
        ),
    ],
)
def test_what_does_not_fit_a_recording_is_told(ask, words, says, cure):
    ran = ask("+model=digits_mlp", *words)
    assert ran.code == 2 and ran.err.startswith("1 mistake "), ran.err
    assert says in ran.err and f"type:  {cure}" in ran.err
