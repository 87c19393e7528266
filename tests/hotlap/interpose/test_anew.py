"""A script that begins anew in its own place: with nothing in force, and not without a word."""

import sys

import pytest

ANEW = """
import os, sys
if "AGAIN" not in os.environ:
    os.environ["AGAIN"] = "1"
    {become}
print("again", *sys.argv[1:])
"""
WAYS = [
    "os.execv(sys.executable, [sys.executable, *sys.argv])",
    "os.execve(sys.executable, [sys.executable, *sys.argv], env=os.environ)",
    "os.execlp(os.path.basename(sys.executable), sys.executable, *sys.argv)",
]


@pytest.mark.parametrize("become", WAYS)
def test_a_full_run_says_that_nothing_is_in_force_any_more(runs, become):
    runs.file("train.py", ANEW.format(become=become))
    path = f"{sys.executable.rpartition('/')[0]}:/nowhere"
    done = runs.hotlap("settings: {num_workers: 2}\n", "train.py", "--a=b c", env={"PATH": path})
    assert (done.returncode, done.stdout) == (0, "again --a=b c\n"), done.stderr
    (line,) = done.stderr.splitlines()
    assert line.startswith("hotlap: the script becomes ") and "PYTHONHASHSEED=0" in line
    assert "frozen.yaml is in force" in line


@pytest.mark.parametrize("more", ["", ", num_workers: 2"])
def test_the_environment_of_a_full_run_is_in_force_there_too(runs, more):
    text = ANEW.format(become=WAYS[0]) + "print(os.environ['OMP_WAIT_POLICY'])\n"
    runs.file("train.py", text)
    done = runs.hotlap(f"settings: {{omp_wait_policy: passive{more}}}\n", "train.py")
    assert done.stdout == "again\nPASSIVE\n", done.stderr
    told = "frozen.yaml but its environment variables is in force" in done.stderr
    assert told is bool(more) is ("becomes" in done.stderr)


OTHERS = """
import os, sys
if os.fork() == 0:
    os.execv(sys.executable, [sys.executable, "-c", "print('a helper')"])
os.wait()
for become in (os.execv, os.execve):
    try:
        become("no such program", ["x"], *[{}] * (become is os.execve))
    except FileNotFoundError:
        print(become.__name__)
"""


def test_a_helper_that_it_forks_and_a_program_that_is_not_there_are_nothing_to_tell(runs):
    runs.file("train.py", OTHERS)
    done = runs.hotlap("settings: {num_workers: 2}\n", "train.py")
    assert done.stdout == "a helper\nexecv\nexecve\n", done.stderr
    assert "becomes" not in done.stderr
