"""Settings are PyTorch's own defaults unless told otherwise, and refuse what cannot be."""

import inspect

import pytest
import torch
from torch.utils.data import DataLoader

from hotlap.errors import SettingsError
from hotlap.settings import CHOICES, MINIMUM, NAMES, OPTIONAL, Settings, faults


def test_defaults_are_pytorch_s_own():
    loader = DataLoader([1], num_workers=1)
    default = Settings()
    assert default.prefetch_factor == loader.prefetch_factor
    assert default.persistent_workers == loader.persistent_workers
    assert default.pin_memory == loader.pin_memory
    assert default.num_workers == inspect.signature(DataLoader).parameters["num_workers"].default
    assert default.in_order == getattr(loader, "in_order", True)
    zero_grad = inspect.signature(torch.optim.Optimizer.zero_grad).parameters["set_to_none"]
    assert default.set_to_none == zero_grad.default


def test_defaults_are_the_flags_of_a_fresh_process():
    import json
    import subprocess
    import sys

    code = """
import json, torch
c = torch.backends.cudnn
print(json.dumps([torch.get_float32_matmul_precision(), c.allow_tf32, c.benchmark,
                  c.benchmark_limit, c.deterministic]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    d = Settings()
    assert json.loads(done.stdout) == [
        d.float32_matmul_precision,
        d.cudnn_allow_tf32,
        d.cudnn_benchmark,
        d.cudnn_benchmark_limit,
        d.cudnn_deterministic,
    ]


@pytest.mark.parametrize("name", NAMES)
def test_every_setting_refuses_a_wrong_value_and_names_itself(name):
    with pytest.raises(SettingsError, match=f"{name} is"):
        Settings(**{name: object()})
    if name in MINIMUM:
        for wrong in (MINIMUM[name] - 1, True, 1.5, "2"):
            with pytest.raises(SettingsError, match="whole number"):
                Settings(**{name: wrong})
        assert (None in (getattr(Settings(), name),)) == (name in OPTIONAL)
    for choice in CHOICES.get(name, ()):
        assert getattr(Settings(**{name: choice}), name) == choice


def test_all_mistakes_are_reported_at_once_with_the_near_name():
    with pytest.raises(SettingsError) as error:
        Settings.from_dict({"num_worker": 2, "amp": "fp8", "pin_memory": True})
    text = str(error.value)
    assert "unknown setting 'num_worker'; did you mean 'num_workers'?" in text
    assert "amp is 'fp8'; it takes one of none, bf16, fp16" in text
    assert list(faults({"amp": "bf16"})) == []


def test_settings_that_need_workers_are_dead_without_them():
    one = Settings(prefetch_factor=4, persistent_workers=True, worker_threads=2)
    assert one.key() == Settings().key() and one.changed() == {}
    assert "prefetch_factor" not in one.to_dict()
    two = Settings(num_workers=2, prefetch_factor=4)
    assert two.changed() == {"num_workers": 2, "prefetch_factor": 4}
    assert Settings.from_dict(two.to_dict()) == two


def test_one_worker_and_four_prefetch_and_persistence_choices_are_five_settings():
    keys = {
        Settings(num_workers=w, prefetch_factor=p, persistent_workers=k).key()
        for w in (0, 2)
        for p in (2, 4)
        for k in (True, False)
    }
    assert len(keys) == 5
