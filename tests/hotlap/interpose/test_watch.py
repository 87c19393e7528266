"""What is imposed decides what of torch's is replaced where nobody wants to know more."""

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader
from torch.utils.data.dataloader import _BaseDataLoaderIter

SWITCHES, OPTIMIZERS = {"set_num_threads"}, {"Optimizer", "scaler"}
LOADERS, MODEL = {"DataLoader", "batches"}, {"call", "compile", "autocast"}
ALL = SWITCHES | OPTIMIZERS | LOADERS | MODEL


def replaced():
    places = {
        "set_num_threads": torch.set_num_threads,
        "Optimizer": torch.optim.Optimizer.__init__,
        "scaler": torch.amp.GradScaler.step,
        "DataLoader": DataLoader.__init__,
        "batches": _BaseDataLoaderIter.__next__,
        "call": nn.Module.__call__,
        "compile": torch.compile,
        "autocast": torch.autocast.__init__,
    }
    return {name for name, function in places.items() if hasattr(function, "__wrapped__")}


@pytest.mark.parametrize(
    ("settings", "parts"),
    [
        ({}, set()),
        ({"set_to_none": True}, SWITCHES | OPTIMIZERS),
        ({"optimizer_kernel": "foreach"}, SWITCHES | OPTIMIZERS),
        ({"num_workers": 2}, SWITCHES | OPTIMIZERS | LOADERS),
        ({"memory_format": "contiguous"}, SWITCHES | OPTIMIZERS | MODEL),
        ({"amp": "none", "pin_memory": False}, ALL),
    ],
)
def test_only_what_the_imposed_settings_need_is_replaced(interpose, settings, parts):
    plain = replaced()
    interposition = interpose(watch=False, **settings)
    _optimizer = torch.optim.SGD(nn.Linear(2, 1).parameters())  # whose model is watched for
    assert replaced() - plain == parts
    interposition.remove()
    assert replaced() == plain


def test_whoever_wants_to_know_sees_all_of_it(interpose):
    interpose()
    assert replaced() >= ALL - {"call"}  # which a listener or an imposed setting waits for
