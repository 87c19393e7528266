"""A warning stands where it stands in the plain script, whatever of hotlap's is in between."""

import logging
import re
import sys
import warnings
from pathlib import Path

import pytest
import torch
from torch import nn

from hotlap.interpose.begin import _AfterImport
from tests.hotlap.interpose.conftest import ENDLESS
from tests.hotlap.interpose.ears import Ears

TEXT = """
import warnings
import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset

class Short(IterableDataset):
    def __len__(self):
        return 1
    def __iter__(self):
        return iter(torch.zeros(3, 2))

class Net(nn.Linear):
    def forward(self, x):
        warnings.warn("from a model's caller", stacklevel=4)
        return super().forward(x)

torch.amp.GradScaler("cuda")
torch.cuda.amp.GradScaler(enabled=True)
DataLoader(range(4), num_workers=1000)
net = Net(2, 1)
parameters = list(net.parameters())
optimizer = torch.optim.SGD(parameters + parameters[:1], lr=0.1)
loader = DataLoader(Short(), batch_size=None, pin_memory=True)
len(loader)
for x in loader:
    torch.autograd.backward(net(x).sum(), grad_variables=torch.ones(()))
    optimizer.step()
"""
"""What torch warns of: without a device twice as much."""

SETTINGS = """\
settings: {prefetch_factor: 3}
provenance: {tuned: [memory_format, amp, optimizer_kernel]}
"""


class Hearing(Ears):
    """A listener whose hooks stand in each way."""

    backward = steps = stepped = forward = lambda self, *of: None


def warned(text):
    """The place and the kind of each warning."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        exec(compile(text, "train.py", "exec"), {"__name__": "__main__"})
    return [(one.filename, one.lineno, one.category.__name__) for one in found]


@pytest.mark.parametrize("watched", [False, True])
def test_a_warning_names_the_line_that_it_names_without_hotlap(interpose, watched):
    plain = warned(TEXT)
    there = interpose(prefetch_factor=3, memory_format="contiguous", amp="none")
    if watched:
        there.listen(Hearing())
    assert warned(TEXT) == plain
    lines = TEXT.splitlines()
    own = [lines[line - 1].strip() for name, line, _ in plain if name == "train.py"]
    for words in ("torch.cuda.amp.GradScaler", "net(x)", "for x in loader"):
        assert any(words in line for line in own)


def test_a_warning_at_the_import_that_hotlap_waits_for_names_the_import(tmp_path, monkeypatch):
    (tmp_path / "warns_so.py").write_text("import warnings\nwarnings.warn('old', stacklevel=2)\n")
    monkeypatch.syspath_prepend(tmp_path)
    waiting = _AfterImport("warns_so", lambda: None)
    monkeypatch.setattr(sys, "meta_path", [waiting, *sys.meta_path])
    assert warned("import warns_so") == [("train.py", 1, "UserWarning")]
    assert waiting not in sys.meta_path and sys.modules.pop("warns_so")


@pytest.mark.skipif(sys.version_info < (3, 11), reason="logging counts each frame")
def test_a_record_of_a_log_names_the_line_too(interpose, caplog):
    class Net(nn.Linear):
        def forward(self, x):
            logging.getLogger("mine").warning("from a model's caller", stacklevel=4)
            return super().forward(x)

    interpose(amp="none")
    net = Net(2, 1)
    _optimizer = torch.optim.SGD(net.parameters())
    for _ in range(2):  # found to be a root, and then known as one
        net(torch.zeros(1, 2))
    assert {Path(record.pathname).name for record in caplog.records} == {Path(__file__).name}


@pytest.mark.slow
def test_so_it_is_under_hotlap_run_and_in_a_trial(runs, scripts):
    script = scripts.write(TEXT)

    def warned_in(said):
        return re.findall(r"^\S+:\d+: \w+Warning: .*", re.sub(" at 0x\\w+", "", said), re.MULTILINE)

    plain, ours = runs.plain(script), runs.hotlap(SETTINGS, script)
    whole = warned_in(plain.stderr)
    assert len(whole) >= 5 and any(str(script) in line for line in whole)
    assert warned_in(ours.stderr) == whole
    trial = scripts.run(target=str(script), settings={"amp": "none"}, window=ENDLESS)
    assert warned_in((trial.folder / "worker.log").read_text()) == whole
