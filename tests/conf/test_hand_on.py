import sys
from pathlib import Path

import pytest

from conf.duration import seconds
from conf.hand_on import (
    next_commands,
    run_goes_on_with,
    run_words,
    script_origin,
    script_run,
    script_words,
    shared_words,
)
from conf.schema import TuneConfig
from hotlap.__main__ import parse
from hotlap.interpose.launch import Script
from hotlap.settings import Settings

FROZEN = Path("outputs/frozen.yaml")


def test_the_words_begin_the_same_study_anew_without_what_it_may_take_otherwise():
    typed = ["script=a.py", "budget=5m", "override=[amp]", "seed=3", "sampler.seed=1"]
    words = script_words(typed, "script", "a.py", ["--", "-n"])
    assert words == ["override=[amp]", "seed=3", "script=a.py", "--", "--", "-n"]
    assert script_words([], "module", "a.b", []) == ["module=a.b"]


def test_the_full_run_is_what_hotlap_run_reads(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "-t=1.py").write_text("")
    for words, script in (
        (["seed=3", "script=-t=1.py", "--", "--", "script=x"], ("-t=1.py", ["--", "script=x"])),
        (["script=-t=1.py"], ("-t=1.py", [])),
        (["module=a.b", "--", "-m"], ("a.b", ["-m"])),
    ):
        settings, read = parse(["run", "--settings", "f.yaml", *run_words(words)])
        assert settings == "f.yaml"
        assert read == Script(script[0], words[0].startswith("module"), script[1])


@pytest.mark.parametrize("words", [[], ["+model=resnet50"], ["+model=a", "--", "script=x"]])
def test_a_study_of_a_model_has_no_such_run(words):
    assert run_words(words) == []
    assert script_run(TuneConfig(words=words), FROZEN) is None


def test_the_command_goes_to_the_studys_folder_if_one_is_elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ["script=my train.py", "--", "--lr", "0.1"]
    here = script_run(TuneConfig(words=words, cwd=str(tmp_path)), FROZEN)
    run = "'my train.py' --lr 0.1"
    assert here == f"python -m hotlap run --settings outputs/frozen.yaml {run}"
    assert script_run(TuneConfig(words=words), FROZEN) == here  # of a table: it has no folder
    away = script_run(TuneConfig(words=words, cwd="/a folder"), FROZEN)
    assert away == f"cd '/a folder' && python -m hotlap run --settings {tmp_path / FROZEN} {run}"


def test_what_to_type_next_holds_for_a_clone_with_a_blank_and_a_budget_that_would_do(monkeypatch):
    monkeypatch.setattr("sys.argv", ["/my clone/tune.py"])
    config = TuneConfig(words=["+model=a"], budget="60s", n_trials=3)
    said = next_commands(config, Path("outputs/a/1"), FROZEN, "")
    assert said["full run"].startswith("python '/my clone/train.py' +model=a settings=")
    assert said["go on with more time"].endswith("resume=outputs/a/1 budget=120s n_trials=null")
    said = next_commands(config, Path("outputs/a/1"), FROZEN, "", "8m")
    assert said["go on with more time"].endswith("resume=outputs/a/1 budget=8m n_trials=null")


def test_a_script_for_which_nothing_is_proven_has_no_full_run_but_its_own(monkeypatch):
    monkeypatch.setattr("sys.argv", ["tune.py"])
    for words, in_force, told in (
        (["script=a.py"], False, False),
        (["script=a.py"], True, True),
        (["+model=a"], False, True),
    ):
        config = TuneConfig(words=words)
        said = next_commands(config, Path("outputs/a/1"), FROZEN, "", in_force=in_force)
        assert ("full run" in said) is told and "go on with more time" in said


@pytest.mark.parametrize(
    ("budget", "longer"),
    [("168h", "1209600s"), ("12.3s", "24.6s"), ("34h17m36.789s", "246913.578s")]
    + [("200000h", "1000000000s")],  # no duration is longer
)
def test_twice_a_budget_of_any_length_can_be_typed(monkeypatch, budget, longer):
    monkeypatch.setattr("sys.argv", ["tune.py"])
    config = TuneConfig(words=["+model=a"], budget=budget)
    command = next_commands(config, Path("outputs/a/1"), FROZEN, "")["go on with more time"]
    assert command.endswith(f" budget={longer}")
    assert seconds(longer) >= seconds(budget)


def test_commands_call_the_python_that_runs_where_another_one_is_found(tmp_path, monkeypatch):
    """As after `.venv/bin/python tune.py`, with the environment not active."""
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr("sys.argv", ["tune.py"])
    monkeypatch.chdir(tmp_path)
    config = TuneConfig(words=["+model=a"])
    for command in next_commands(config, Path("outputs/a/1"), FROZEN, "").values():
        assert command.split()[0] == sys.executable
    script = TuneConfig(words=["script=a.py"], cwd="/elsewhere")
    assert f"&& {sys.executable} -m hotlap run" in (script_run(script, FROZEN) or "")


def test_a_tracking_servers_password_is_in_no_command():
    typed = ["+model=a", "tracking.uri=http://me:secret@host/", "script=x"]
    assert shared_words(typed, []) == ["+model=a", "tracking.uri=http://***@host/"]
    args = ["--db", "http://me:secret@host"]  # the script's own are as typed
    words = script_words(typed[1:], "script", "a.py", args)
    assert words == ["tracking.uri=http://***@host/", "script=a.py", "--", *args]


def test_a_frozen_file_says_what_its_script_was_overruled_in():
    words = ["override=[amp]", "script=a.py", "--", "-n"]
    plain = script_origin(TuneConfig(words=words[1:]), {}, Settings())
    assert plain == {"script": "a.py -n"}
    overruled = script_origin(TuneConfig(words=words, override=["amp"]), {}, Settings())
    assert overruled == plain | {"override": ["amp"]}


def test_a_frozen_file_lists_what_was_typed_and_is_not_the_scripts_own():
    typed = {"num_workers": 4, "prefetch_factor": 8, "cudnn_benchmark": True}
    config = TuneConfig(words=["script=a.py"], settings=typed)
    own = {"num_workers": 0, "cudnn_benchmark": True}
    for winner, imposed in (
        (Settings(num_workers=3, prefetch_factor=8), ["num_workers", "prefetch_factor"]),
        (Settings(), ["num_workers"]),  # without workers the other one means nothing
    ):
        assert script_origin(config, own, winner)["imposed"] == imposed
    assert "imposed" not in script_origin(config, typed, Settings(num_workers=3))


def test_a_full_run_goes_on_by_its_folder_and_by_what_was_typed_for_a_later_session(monkeypatch):
    monkeypatch.setattr("sys.argv", ["/my clone/train.py"])
    folder = Path("outputs/a b/full-1")
    whole = "python '/my clone/train.py' 'resume=outputs/a b/full-1'"
    assert run_goes_on_with(folder) == whole
    words = ["epochs=9", "+resume=earlier.pt", "tracking.uri=http://me:secret@host"]
    again = run_goes_on_with(folder, words)
    assert again.startswith(f"{whole} epochs=9 ") and "earlier.pt" not in again
    assert "host" in again and "secret" not in again
