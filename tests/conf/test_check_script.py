"""What is wrong with a script, and what does not go together with one, is told with its cure."""

import os

import pytest


@pytest.fixture
def scripts(tmp_path):
    for name in ("train.py", "other.py", "package/__init__.py", "package/train.py"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("raise SystemExit('a script was run')\n")
    (tmp_path / "run.sh").write_text("echo hello\nfor i in 1 2; do echo $i; done\n")
    return tmp_path


@pytest.mark.parametrize(
    ("words", "says", "cure"),
    [
        (["script=trian.py"], "there is no script trian.py here", "script=train.py"),
        (["script=package/trian.py"], "no script package/trian.py", "script=package/train.py"),
        (["script=nowhere/at_all.py"], "no script nowhere/at_all.py", "script=<your script>"),
        (["script=package"], "package is a folder", "script=package/train.py"),
        (["script="], "script is empty", "script=train.py"),
        (["script=run.sh"], "run.sh cannot be run by Python", "script=<your script>"),
        (["script=package.train"], "no script package.train", "module=package.train"),
        (["-m", "script=train.py,other.py"], "no script train.py,other.py", "script=train.py"),
        (["module=package.trian"], "no module 'trian' in package", "module=package.train"),
        (["module=pakage.train"], "there is no module 'pakage'", "module=package.train"),
        (["module=package"], "it has no __main__.py", "module=package.train"),
        (["module=train.py"], "train is no package", "script=train.py"),
        (["module=package/train.py"], "no module's name", "script=package/train.py"),
        (["script=train.py", "cwd=package"], "cwd is filled in", "cd <that folder>"),
        (["sript=train.py"], "there is no key 'sript'", "script=train.py"),
        (["modul=package.train"], "there is no key 'modul'", "module=package.train"),
        (["train.py"], "'train.py' is not of the form key=value", "script=train.py"),
        (["train.py", "--epochs", "1"], "'train.py --epochs 1' is not", "script=train.py -- --"),
        (["script=train.py", "epochs=3"], "no key 'epochs'", "script=train.py -- --epochs 3"),
        (["lr=0.1", "script=train.py"], "no key 'lr'", "script=train.py -- --lr 0.1"),
        (["script=train.py", "budgte=5m"], "no key 'budgte'", "budget=5m"),
        (["script=train.py", "--lr", "0.1"], "'--lr 0.1' stands where hotlap's", "-- --lr 0.1"),
        (["script=train.py", "+model=resnet50"], "a model and script=train.py", "the command with"),
        (["script=train.py", "module=package.train"], "are both named", "the command without mod"),
        (["script=train.py", "data=text"], "data cannot reach script=train.py", "the command with"),
        (["script=train.py", "model.n=3"], "model.n cannot reach", "the command without model.n"),
        (["module=package.train", "device=cpu"], "device cannot reach module=package.train", "the"),
        (["script=train.py", "override=[apm]"], "override names 'apm'", "override=[amp]"),
        (["script=train.py", "override=amp"], "override is 'amp'", "override=[amp]"),
        (["script=train.py", "override=amp,compile_mode"], "several", "override=[amp,compile"),
        (["+model=resnet50", "override=[amp]"], "override is about a script", "script=<your scr"),
        (["--", "--lr"], "and no script is named", "python tune.py script=<your script> -- --lr"),
        (["+model=resnet50", "--", "--lr"], "and no script is named", "python tune.py +model="),
        (["+model=resnet50", "--cfg", "job", "--", "-n"], "no script", "python tune.py +model="),
    ],
)  # fmt: skip
def test_each_mistake_is_one_with_its_cure(ask, scripts, words, says, cure):
    ran = ask(*words)
    assert ran.code == 2 and not ran.configs
    assert ran.err.startswith("1 mistake "), ran.err
    assert says in ran.err and f"    type:  {cure}" in ran.err


@pytest.mark.parametrize("word", ["nowhere/at_all.py", "qqqqqq", "chown"])
def test_a_module_is_named_as_this_command_line_names_one(ask, scripts, word):
    ran = ask(f"script={word}")
    assert ran.code == 2 and "`module=package.module`" in ran.err and "-m package" not in ran.err


def test_without_any_of_them_the_models_and_the_way_to_a_script_are_named(ask):
    ran = ask()
    assert ran.code == 2 and ran.err.startswith("1 mistake ")
    assert "no model is named" in ran.err and "resnet18" in ran.err
    assert "a script of your own: script=train.py" in ran.err


def test_a_program_that_is_no_python_is_told(ask, tmp_path, monkeypatch):
    program = tmp_path / "bin" / "shelly"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    ran = ask("script=shelly")
    assert ran.code == 2 and "is no Python program" in ran.err


def test_several_mistakes_come_at_once(ask, scripts):
    ran = ask("script=trian.py", "device=cpu", "budget=soon", "override=[apm]")
    assert ran.code == 2 and ran.err.startswith("4 mistakes")


def test_what_a_script_warns_of_is_left_to_its_run(ask, scripts):
    (scripts / "train.py").write_text('print("\\d", 1 is 1)\n')  # two SyntaxWarnings: errors here
    assert ask("script=train.py").code == 0
