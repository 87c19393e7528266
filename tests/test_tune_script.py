"""tune.py on a script of the user's own, as it is typed."""

import json
import shlex
from pathlib import Path

import pytest

from hotlap import frozen
from hotlap.interpose import Imposed
from tests.short_study import LIGHT

QUICK = [*LIGHT, "tracking=none", "bank=none", "n_trials=1"]
SCRIPT = """
import sys
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

assert sys.argv[1:] == ["--name", "a=b, c"], sys.argv
torch.backends.cudnn.benchmark = True
rows = TensorDataset(torch.randn(256, 8), torch.randn(256, 1))
loader = DataLoader(rows, batch_size=8, shuffle=True, num_workers=1)
model = nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for epoch in range(int(1e6)):
    for x, y in loader:
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
    open("checkpoint", "w").close()
"""

pytestmark = pytest.mark.slow


def test_the_baseline_is_the_script_as_it_is(tmp_path, done):
    (tmp_path / "train.py").write_text(SCRIPT)
    space = "search_space=[dataloader,amp]"
    out = done(tmp_path, "script=train.py", space, *QUICK, "--", "--name", "a=b, c")
    (folder,) = (tmp_path / "outputs" / "train").iterdir()
    events = (folder / "trials" / "0000" / "events.jsonl").read_text().splitlines()
    (built,) = (e for e in map(json.loads, events) if e["event"] == "built")
    assert built["num_workers"] == 1
    result = json.loads((folder / "result.json").read_text())
    own = result["baseline"]["settings"]
    assert (own["num_workers"], own["cudnn_benchmark"]) == (1, True)
    assert result["script"] == "train.py --name 'a=b, c'" and result["by_itself"]
    found = frozen.load_frozen(folder / "frozen.yaml")
    assert found.provenance["script"] == result["script"]
    # What is not proven puts nothing in force: then there is no full run but its own.
    assert ("-m hotlap run --settings" in out) == bool(found.provenance["tuned"])
    assert "1 workers, trains" in out and "train.py:10" in out
    assert out.count("searched: num_workers, prefetch_factor") == 1
    # No space of a script has fp16, on whatever device: so it cannot win.
    assert "fp16 needs gradients scaled by a GradScaler between" in " ".join(out.split())
    if not Path(folder / "facts.json").read_text().count('"why_not": ""'):
        return  # no scratch copies on this machine
    assert not (tmp_path / "checkpoint").exists()


def test_what_was_typed_is_in_force_in_each_trial_and_in_the_full_run(tmp_path, done):
    (tmp_path / "train.py").write_text(SCRIPT)
    typed = ["settings.num_workers=2", "settings.cudnn_benchmark=true"]  # the second is its own
    words = ["script=train.py", *typed, "search_space=[optimizer]", *QUICK]
    out = done(tmp_path, *words, "--", "--name", "a=b, c")
    (folder,) = (tmp_path / "outputs" / "train").iterdir()
    result = json.loads((folder / "result.json").read_text())
    assert result["baseline"]["settings"]["num_workers"] == 2
    found = frozen.load_frozen(folder / "frozen.yaml")
    assert found.provenance["imposed"] == ["num_workers"]
    imposed = Imposed.of_frozen(found)
    assert imposed.value("num_workers") == 2 and "cudnn_benchmark" not in imposed
    assert "-m hotlap run --settings" in out


HYDRA = """
import hydra
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

@hydra.main(version_base=None, config_path="conf", config_name="config")
def main(config):
    assert (config.lr, config.name) == (0.02, "a=b, c"), config
    rows = TensorDataset(torch.randn(256, 8), torch.randn(256, 1))
    model = nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=config.lr)
    scaler = torch.amp.GradScaler("cpu", init_scale=1.0)
    for epoch in range(int(1e6)):
        for x, y in DataLoader(rows, batch_size=8, shuffle=True):
            optimizer.zero_grad()
            scaler.scale(nn.functional.mse_loss(model(x), y)).backward()
            scaler.step(optimizer)
            scaler.update()

if __name__ == "__main__":
    main()
"""


def test_a_script_with_hydra_and_a_scaler_that_is_overridden(tmp_path, done):
    (tmp_path / "train.py").write_text(HYDRA)
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "config.yaml").write_text("lr: 0.5\nname: x\n")
    words = ["script=train.py", "search_space=[amp,optimizer]", "override=[amp]", *QUICK]
    done(tmp_path, *words, "--", "lr=0.02", "name='a=b, c'")
    (folder,) = (tmp_path / "outputs" / "train").iterdir()
    trials = [path.read_text() for path in (folder / "trials").glob("*/job.json")]
    facts = json.loads((folder / "facts.json").read_text())
    in_hardware = facts["bf16"]
    assert any('"amp": "bf16"' in text for text in trials) == in_hardware
    found = frozen.load_frozen(folder / "frozen.yaml")
    assert found.provenance["override"] == ["amp"]
    assert shlex.split(found.provenance["script"]) == ["train.py", "lr=0.02", "name='a=b, c'"]
