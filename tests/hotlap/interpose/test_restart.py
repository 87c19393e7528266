"""The process starts anew with the environment that the settings ask for, once, and only then."""

import json
import os

import pytest

from hotlap.environment import allocator_library
from hotlap.interpose import Imposed
from hotlap.interpose.restart import MARK, missing

PRINT = "import json, os, sys\nprint(json.dumps([dict(os.environ), sys.argv, os.getpid()]))\n"


def environment(done):
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_script_gets_the_variables_and_its_arguments_as_typed(runs):
    runs.file("env.py", PRINT)
    text = "settings: {omp_wait_policy: passive, cuda_alloc_conf: 'expandable_segments:True'}\n"
    env, argv, _ = environment(runs.hotlap(text, "env.py", "--a=b c", ""))
    assert env["OMP_WAIT_POLICY"] == "PASSIVE" and env["GOMP_SPINCOUNT"] == "0"
    assert env["PYTORCH_CUDA_ALLOC_CONF"] == "expandable_segments:True"
    assert argv == ["env.py", "--a=b c", ""]


def test_with_settings_that_need_nothing_the_environment_stays_as_it_is(runs):
    runs.file("env.py", PRINT)
    env, _, _ = environment(runs.hotlap("settings: {num_workers: 2}\n", "env.py"))
    plain, _, _ = environment(runs.plain("env.py"))
    assert env == plain


def test_the_interpreter_s_own_options_survive(runs):
    path = runs.file("frozen.yaml", "settings: {omp_wait_policy: active}\n")
    runs.file(
        "flags.py", "import os, sys; print(sys.flags.utf8_mode, os.environ['OMP_WAIT_POLICY'])"
    )
    done = runs.plain(
        "-X", "utf8", "-m", "hotlap", "run", f"--settings={path}", "--", "flags.py"
    )  # fmt: skip
    assert done.stdout == "1 ACTIVE\n", done.stderr


def test_what_is_there_already_needs_no_second_start(monkeypatch):
    monkeypatch.setenv("OMP_WAIT_POLICY", "PASSIVE")
    monkeypatch.setenv("GOMP_SPINCOUNT", "0")
    assert missing(Imposed.of({"omp_wait_policy": "passive"}), []) == {}


@pytest.mark.skipif(not allocator_library("jemalloc"), reason="jemalloc is not installed here")
def test_a_preloaded_allocator_is_found_to_be_there(runs):
    runs.file("env.py", PRINT)
    env, _, _ = environment(runs.hotlap("settings: {allocator: jemalloc}\n", "env.py"))
    assert env["LD_PRELOAD"].count("jemalloc") == 1


def test_an_allocator_that_is_not_installed_leaves_a_note_and_the_rest_in_force(monkeypatch):
    monkeypatch.setattr("hotlap.environment.LIBRARY_FOLDERS", ("/nowhere",))
    notes = []
    imposed = Imposed.of({"allocator": "tcmalloc", "cuda_alloc_conf": "a:b"})
    assert missing(imposed, notes)["PYTORCH_ALLOC_CONF"] == "a:b"
    assert [note["setting"] for note in notes] == ["allocator"]


def test_a_variable_that_python_s_start_sets_otherwise_is_told_and_the_script_runs(runs):
    text = "import os\nos.environ |= {'OMP_NUM_THREADS': '3', 'GOMP_SPINCOUNT': '7'}\n"
    runs.file("at start/sitecustomize.py", text)
    runs.file("env.py", PRINT)
    path = f"{runs.folder / 'at start'}{os.pathsep}{runs.env['PYTHONPATH']}"
    settings = "settings: {omp_wait_policy: passive, intraop_threads: 2}\n"
    done = runs.hotlap(settings, "env.py", env={"PYTHONPATH": path})
    env, _, _ = environment(done)
    assert env["GOMP_SPINCOUNT"] == "7" and MARK not in env
    line, *others = [line for line in done.stderr.splitlines() if "omp_wait_policy" in line]
    assert "it needs GOMP_SPINCOUNT=0 in the environment" in line and not others
    assert "sitecustomize" in line
