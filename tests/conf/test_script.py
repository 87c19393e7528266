"""`script=` and `module=` as typed: what reaches the study of what was named."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from conf.workload import script_of

REPO = Path(__file__).resolve().parents[2]
ODD = [
    "--name", "a=b,c", "--n", "64", "", " ", "--", "~", "~/x", "'q'", '"d q"', "${x", "${x.y}",
    r"\${x}", "???", "[1,2]", "{a: b}", "null", "1e3", "#c", "é🙂", "a\nb", "\\", "@%$&;|", "-m",
]  # fmt: skip


@pytest.fixture
def scripts(tmp_path):
    """A folder with scripts in it, none of which may be run."""
    for name in ("train.py", "x=1/tiny train.py", "package/__init__.py", "package/train.py"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("raise SystemExit('a script was run')\n")
    return tmp_path


def test_a_script_is_named_with_its_arguments(ask, scripts):
    ran = ask("script=train.py", "budget=5m", "--", "--epochs", "1", "--lr", "0.1")
    assert ran.code == 0, ran.err
    (config,) = ran.configs
    assert script_of(config) == {
        "target": str(scripts / "train.py"),
        "is_module": False,
        "args": ["--epochs", "1", "--lr", "0.1"],
        "cwd": str(scripts),
        "override": [],
        "scratch": True,
    }
    assert config.name == "train" and config.budget == "5m" and config.model is None
    assert config.words == ["script=train.py", "--", "--epochs", "1", "--lr", "0.1"]


def test_a_module_is_named_with_its_arguments(ask, scripts):
    ran = ask("module=package.train", "override=[amp]", "scratch=false", "--", "-n")
    script = script_of(ran.configs[0])
    assert script["target"] == "package.train" and script["is_module"] is True
    assert script["override"] == ["amp"] and script["scratch"] is False
    assert ran.configs[0].name == "train"
    words = ["override=[amp]", "scratch=false", "module=package.train", "--", "-n"]
    assert ran.configs[0].words == words


def test_a_console_script_is_found_on_the_path(ask, tmp_path, monkeypatch):
    program = tmp_path / "bin" / "my-trainer"
    program.parent.mkdir()
    program.write_text("#!/usr/bin/env python3\nraise SystemExit\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent))
    ran = ask("script=my-trainer", "--", "fit")
    assert ran.code == 0, ran.err
    assert script_of(ran.configs[0])["target"] == str(program)
    assert ran.configs[0].name == "my-trainer"
    assert ran.configs[0].words == ["script=my-trainer", "--", "fit"]


@pytest.mark.parametrize(
    "word",
    [
        "script=x=1/tiny train.py",
        "+script=x=1/tiny train.py",
        "++script=./x=1/tiny train.py",
        "script='x=1/tiny train.py'",
        'script="x=1/tiny train.py"',
        r"script=x\=1/tiny\ train.py",
    ],
)
def test_a_path_is_taken_as_typed_or_as_quoted_for_hydra(ask, scripts, word):
    ran = ask(word)
    assert ran.code == 0, ran.err
    assert ran.configs[0].script == str(scripts / "x=1" / "tiny train.py")
    assert ran.configs[0].name == "tiny train"


@pytest.mark.parametrize(
    "name",
    ["a,b.py", "a#b&c.py", "~x.py", "[a].py", "{a: b}.py", "x${y}.py", "${x.py", "null", "'a'",
     "é.py", "a\\b.py", "@%:;!.py", "1.5", "a=b=c"],
)  # fmt: skip
@pytest.mark.parametrize("flags", [[], ["-m"]])
def test_any_name_of_a_file_is_its_name(ask, tmp_path, name, flags):
    (tmp_path / name).write_text("pass\n")
    ran = ask(*flags, f"script={name}", "--", "--n")
    assert ran.code == 0, ran.err
    assert ran.configs[0].script == str(tmp_path / name)
    assert ran.configs[0].words == [f"script={name}", "--", "--n"]


def test_the_home_folder_may_be_meant(ask, scripts, monkeypatch):
    monkeypatch.setenv("HOME", str(scripts / "package"))
    assert ask("script=~/train.py").configs[0].script == str(scripts / "package" / "train.py")


def test_all_after_the_bare_dashes_arrives_as_typed(ask, scripts):
    ran = ask("script=train.py", "--", *ODD)
    assert ran.code == 0, ran.err
    assert ran.configs[0].script_args == ODD
    assert ran.configs[0].words == ["script=train.py", "--", *ODD]


def test_the_arguments_may_be_quoted_for_hydra_or_stand_in_a_file(ask, scripts, my_conf):
    ran = ask("script=train.py", 'script_args=["--lr=0.1","--name","a,b"]')
    assert ran.configs[0].script_args == ["--lr=0.1", "--name", "a,b"]
    my_conf(study__mine="# @package _global_\nscript: train.py\nscript_args: ['--lr=0.1']\n")
    ran = ask("--config-dir", "my_conf", "+study=mine")
    assert ran.code == 0, ran.err
    assert ran.configs[0].words == ["script=train.py", "--", "--lr=0.1"]
    ran = ask("--config-dir", "my_conf", "+study=mine", "--", "--lr=0.2")
    assert ran.configs[0].script_args == ["--lr=0.2"]


def test_arguments_that_hydra_cannot_read_are_told_where_they_belong(ask, scripts):
    ran = ask("script=train.py", "script_args=[--lr=0.1,--n]")
    assert ran.code == 2 and "type:  -- --lr=0.1 --n" in ran.err


def test_frozen_settings_are_where_a_script_may_start_from(ask, scripts, frozen_file):
    ran = ask("script=train.py", f"settings={frozen_file()}", "record=t.jsonl",
              "sampler=brute_force")  # fmt: skip
    assert ran.code == 0, ran.err
    assert ran.configs[0].settings["num_workers"] == 4 and ran.configs[0].record == "t.jsonl"


def test_all_that_a_frozen_file_puts_in_force_is_what_the_user_wants(ask, scripts):
    """A default of PyTorch's is one of a script's own that was tuned away, if it is listed."""
    origin = "{tuned: [num_workers], imposed: [amp], script: train.py}"
    (scripts / "best.yaml").write_text(
        f"settings: {{num_workers: 0, amp: none, pin_memory: true}}\nprovenance: {origin}\n"
    )
    ran = ask("script=train.py", "settings=best.yaml", "settings.set_to_none=true")
    assert ran.code == 0, ran.err
    wanted = {"num_workers": 0, "amp": "none", "pin_memory": True, "set_to_none": True}
    assert ran.configs[0].settings == wanted


def test_cfg_job_shows_a_script_and_its_arguments(ask, scripts):
    ran = ask("script=x=1/tiny train.py", "--cfg", "job", "--", "a b", "c=d,e")
    assert ran.code == 0 and not ran.configs
    assert "script: x=1/tiny train.py\n" in ran.out and "script_args:\n- a b\n- c=d,e\n" in ran.out


def test_help_names_the_keys_of_scripts(ask):
    ran = ask("--help")
    for text in ("script=train.py -- --epochs 1", "module=package.train", "override: []"):
        assert text in ran.out


@pytest.mark.parametrize("word", ["script=x=1/tiny trian.py", "module=package.trian", "sript=a.py"])
def test_a_mistake_is_found_without_running_anything_of_the_script(scripts, word):
    front = scripts / "front.py"
    front.write_text(
        "import json, sys\n"
        f"sys.path.insert(0, {str(REPO)!r})\n"
        "from conf.cli import main\n"
        "code = main(sys.argv[1:], 'config', lambda config, text: 0)\n"
        "print(json.dumps(sorted({'torch', 'optuna', 'numpy', 'package'} & set(sys.modules))))\n"
        "sys.exit(code)\n"
    )
    done = subprocess.run(
        [sys.executable, str(front), word, "--", "--lr"],
        cwd=scripts,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2, done.stderr
    assert json.loads(done.stdout) == []
    assert done.stderr.startswith("1 mistake "), done.stderr
