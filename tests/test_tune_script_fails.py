"""tune.py on a script that fails whatever the settings."""

import pytest

SCRIPT = """
import torch
from torch import nn

net = nn.Linear(4, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
rows = torch.load("data/rows-that-do-not-exist.pt")
"""


@pytest.mark.slow
def test_it_stops_after_one_run_and_shows_the_scripts_own_error(tmp_path, tune):
    (tmp_path / "train.py").write_text(SCRIPT)
    words = "script=train.py budget=2m tracking=none bank=none runner.preload=[torch]".split()
    code, out, err = tune(tmp_path, *words)
    assert code == 1
    said = out + err
    assert "FileNotFoundError" in said and "data/rows-that-do-not-exist.pt" in said
    assert 'train.py", line 7' in said and "No trial was run" in said
    (folder,) = (tmp_path / "outputs" / "train").iterdir()
    assert not (folder / "trials").exists()
