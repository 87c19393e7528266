"""A script that asks for the process group that it has."""

from tests.hotlap.script.script_texts import TRAINING


def test_asking_for_its_own_group_is_no_error(scripts):
    text = """
import os
os.setpgrp()
os.setpgid(0, 0)
os.setpgid(os.getpid(), os.getpid())
assert os.getpgid(0) == os.getpid()
if (child := os.fork()) == 0:
    os.setpgrp()
    os._exit(os.getpgid(0) != os.getpid())
assert os.waitpid(child, 0)[1] == 0
"""
    found = scripts.run(text + TRAINING + "train(100_000)")
    assert found.outcome == "ok", found.traceback


def test_another_group_is_refused_as_ever(scripts):
    found = scripts.run("import os\nos.setpgid(0, os.getppid())\n")
    assert found.outcome == "crash"
    assert found.reason.startswith("PermissionError")
