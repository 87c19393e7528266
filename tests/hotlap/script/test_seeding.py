"""Seeds of the numerics gate: not from a thread that fetches batches while the model draws."""

import threading
from types import SimpleNamespace

import pytest
import torch

from hotlap.interpose.imposed import Imposed
from hotlap.interpose.patches import Patches
from hotlap.interpose.seen import LoaderSeen, Seen
from hotlap.job import Job
from hotlap.script.losses import Losses
from hotlap.training import Units
from tests.hotlap.training.virtual_script import Loader


@pytest.fixture
def listener():
    patches = Patches()
    interposition = SimpleNamespace(seen=Seen(), patches=patches)
    job = Job("", kind="losses", run={"steps": 9}, script={})
    losses = Losses(job, Imposed.of({}, ()), interposition, lambda *_, **__: None, None, 0.0)
    losses.units = Units(losses)
    yield losses.listener
    patches.undo()


def test_only_the_thread_that_trains_seeds(listener):
    loader, seen = Loader(5), LoaderSeen("DataLoader", "D", 4, 0, "RandomSampler", False, "a.py:1")

    def changes_numbers(action, elsewhere):
        before = torch.get_rng_state()
        if elsewhere:
            thread = threading.Thread(target=action)
            thread.start()
            thread.join()
        else:
            action()
        return not torch.equal(before, torch.get_rng_state())

    def asks():
        listener.asks(seen, None)

    def begins():
        listener.begins(seen)

    assert changes_numbers(begins, elsewhere=False)
    listener.asks(seen, None)
    listener.gives(seen, loader, None, torch.ones(4))
    assert changes_numbers(asks, elsewhere=False)
    listener.backward(torch.ones(()))
    for action in (asks, begins):
        torch.rand(3)
        assert not changes_numbers(action, elsewhere=True)
    torch.rand(3)
    assert changes_numbers(begins, elsewhere=False)
