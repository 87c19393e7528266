"""Threads, backend switches and the environment: what holds for a whole process."""

import json
import os
import subprocess
import sys

import pytest

from hotlap.apply import apply_process
from hotlap.settings import Settings

pytestmark = pytest.mark.usefixtures("flags_as_before")


def test_legacy_reads_work_after_a_script_used_the_new_tf32_switches():
    code = """
import torch
from hotlap.apply import apply_process
from hotlap.settings import Settings
if hasattr(torch.backends, "fp32_precision"):
    torch.backends.fp32_precision = "tf32"
    torch.backends.cudnn.conv.fp32_precision = "ieee"
for precision, tf32 in (("highest", False), ("high", True), ("medium", False)):
    apply_process(Settings(float32_matmul_precision=precision, cudnn_allow_tf32=tf32))
    assert torch.get_float32_matmul_precision() == precision
    assert torch.backends.cuda.matmul.allow_tf32 == (precision != "highest")
    assert torch.backends.cudnn.allow_tf32 == tf32
    if hasattr(torch.backends.cudnn, "conv"):
        assert (torch.backends.cudnn.conv.fp32_precision == "tf32") == tf32
        assert (torch.backends.cudnn.rnn.fp32_precision == "tf32") == tf32
"""
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


def run_code(code, **env):
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **env}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done


def test_interop_threads_are_set_and_a_second_call_is_a_note_and_no_crash():
    code = """
import json, torch
from hotlap.apply import apply_process
from hotlap.settings import Settings
first = apply_process(Settings(interop_threads=3, intraop_threads=2))
again = apply_process(Settings(interop_threads=3))
other = apply_process(Settings(interop_threads=4))
counts = [torch.get_num_interop_threads(), torch.get_num_threads()]
print(json.dumps([first, again, [n["setting"] for n in other], counts]))
"""
    assert json.loads(run_code(code).stdout) == [[], [], ["interop_threads"], [3, 2]]


@pytest.mark.parametrize("policy, word", [("active", "ACTIVE"), ("passive", "PASSIVE")])
def test_openmp_reads_the_wait_policy_of_the_environment(policy, word):
    from hotlap.environment import process_environment

    env = process_environment(Settings(omp_wait_policy=policy, intraop_threads=2), os.environ)
    code = f"""
import torch
from hotlap.apply import apply_process
from hotlap.settings import Settings
assert apply_process(Settings(omp_wait_policy={policy!r})) == []
"""
    shown = run_code(code, **env, OMP_DISPLAY_ENV="VERBOSE").stderr
    if "GOMP_SPINCOUNT" not in shown:
        pytest.skip("torch does not use GNU OpenMP here")
    assert f"OMP_WAIT_POLICY = '{word}'" in shown
    assert "OMP_NUM_THREADS = '2'" in shown
    assert f"GOMP_SPINCOUNT = '{env['GOMP_SPINCOUNT']}'" in shown


def test_environment_settings_that_the_process_did_not_start_with_are_noted(monkeypatch):
    names = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF")
    for name in names:
        monkeypatch.delenv(name, raising=False)
    settings = Settings(omp_wait_policy="passive", cuda_alloc_conf="expandable_segments:True")
    notes = apply_process(settings)
    assert [note["setting"] for note in notes] == ["omp_wait_policy", "cuda_alloc_conf"]
    assert "OMP_WAIT_POLICY=PASSIVE GOMP_SPINCOUNT=0" in notes[0]["reason"]
    for name, value in zip(names, ("PASSIVE", "0", *2 * [settings.cuda_alloc_conf]), strict=True):
        monkeypatch.setenv(name, value)
    assert apply_process(settings) == []


@pytest.mark.parametrize(
    ("present", "holds"),
    [
        ({"PYTORCH_ALLOC_CONF": "a:b"}, True),
        ({"PYTORCH_CUDA_ALLOC_CONF": "a:b"}, True),  # all that a torch before 2.9 reads
        ({"PYTORCH_ALLOC_CONF": "a:b", "PYTORCH_CUDA_ALLOC_CONF": "c:d"}, False),
        ({"PYTORCH_ALLOC_CONF": "c:d", "PYTORCH_CUDA_ALLOC_CONF": "a:b"}, False),
        ({"PYTORCH_ALLOC_CONF": "c:d"}, False),
    ],
)
def test_one_of_the_allocators_two_names_is_enough(monkeypatch, present, holds):
    for name in ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF"):
        monkeypatch.delenv(name, raising=False)
    for name, value in present.items():
        monkeypatch.setenv(name, value)
    notes = apply_process(Settings(cuda_alloc_conf="a:b"))
    assert [note["setting"] for note in notes] == ([] if holds else ["cuda_alloc_conf"])
