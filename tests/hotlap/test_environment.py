"""A process starts with the variables that its settings need, over the user's own."""

import os
import platform
import subprocess
import sys

import pytest

from hotlap import environment
from hotlap.environment import GLIBC_KEEP, is_set, process_environment, variables
from hotlap.errors import InvalidTrial
from hotlap.settings import Settings


def test_default_settings_change_no_variable():
    base = {"PATH": "/bin", "OMP_NUM_THREADS": "3", "PYTORCH_ALLOC_CONF": "x"}
    assert process_environment(Settings(), base) == base
    assert variables(Settings(), base) == {}


@pytest.mark.parametrize(
    "settings, expected",
    [
        ({"omp_wait_policy": "passive"}, {"OMP_WAIT_POLICY": "PASSIVE", "GOMP_SPINCOUNT": "0"}),
        ({"intraop_threads": 4}, {"OMP_NUM_THREADS": "4"}),
        ({"allocator": "glibc_keep"}, GLIBC_KEEP),
        (
            {"cuda_alloc_conf": "expandable_segments:True"},
            dict.fromkeys(
                ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF"), "expandable_segments:True"
            ),
        ),
    ],
)
def test_each_setting_sets_its_variables_over_the_user_s(settings, expected):
    base = {"A": "1", **dict.fromkeys(expected, "old")}
    assert process_environment(Settings(**settings), base) == {"A": "1", **expected}


def test_an_allocator_is_preloaded_before_what_the_user_preloads(tmp_path, monkeypatch):
    library = tmp_path / "libjemalloc.so.2"
    library.touch()
    monkeypatch.setattr(environment, "LIBRARY_FOLDERS", (str(tmp_path),))
    settings = Settings(allocator="jemalloc")
    assert variables(settings, {})["LD_PRELOAD"] == str(library)
    assert variables(settings, {"LD_PRELOAD": "own.so"})["LD_PRELOAD"] == f"{library}:own.so"


PIECES = """
import resource, torch
def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(2):
    torch.ones(12_000_000)
before = faults()
for _ in range(4):
    torch.ones(12_000_000)
print(faults() - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the C library is not glibc")
def test_what_is_kept_is_not_asked_of_the_kernel_again():
    """Pieces of 48 MB, which glibc by itself gives back each time: page faults, counted."""
    n_faults = {}
    for allocator in ("default", "glibc_keep"):
        env = process_environment(Settings(allocator=allocator), os.environ)
        done = subprocess.run(
            [sys.executable, "-c", PIECES], env=env, capture_output=True, text=True, check=True
        )
        n_faults[allocator] = int(done.stdout)
    assert 5 * n_faults["glibc_keep"] < n_faults["default"]


def test_an_allocator_that_is_not_installed_is_an_invalid_trial(tmp_path, monkeypatch):
    monkeypatch.setattr(environment, "LIBRARY_FOLDERS", (str(tmp_path),))
    with pytest.raises(InvalidTrial, match=f"none was found in {tmp_path}"):
        variables(Settings(allocator="tcmalloc"), {})


@pytest.mark.parametrize(
    ("name", "value", "present", "answer"),
    [
        ("OMP_WAIT_POLICY", "PASSIVE", "passive", True),
        ("OMP_WAIT_POLICY", "PASSIVE", "active", False),
        ("LD_PRELOAD", "/a/lib.so:own.so", "own.so /a/lib.so", True),
        ("LD_PRELOAD", "/a/lib.so:own.so", "own.so", False),
        ("PYTORCH_ALLOC_CONF", "expandable_segments:True", "expandable_segments:true", False),
    ],
)
def test_a_variable_is_set_where_whoever_reads_it_would_find_the_same(name, value, present, answer):
    assert is_set(name, value, {name: present}) is answer
    assert not is_set(name, value, {})
