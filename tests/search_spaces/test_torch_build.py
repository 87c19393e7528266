"""The tuner says of torch what torch says of itself, and does not import it."""

import subprocess
import sys

import torch

from search_spaces import torch_build
from tests.conftest import ROOT


def test_the_files_say_what_torch_itself_says():
    of_itself = {"torch": str(torch.__version__), "cuda": torch.version.cuda}
    assert torch_build.torch_build() == {n: v for n, v in of_itself.items() if v is not None}


def test_torch_is_not_imported_for_it():
    code = (
        "import sys; from search_spaces.torch_build import torch_build\n"
        "assert torch_build()['torch'] and 'torch' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_what_the_file_does_not_say_is_left_out(monkeypatch, tmp_path):
    monkeypatch.setattr(torch_build, "torch_folder", lambda: tmp_path)
    assert torch_build.torch_build() == {}
    (tmp_path / "version.py").write_text("__version__ = '2.6.0+cpu'\ncuda: str | None = None\n")
    assert torch_build.torch_build() == {"torch": "2.6.0+cpu"}
