"""hotlap: puts tuned runtime settings in force in a PyTorch training process.

Importing this package imports neither torch nor anything of the tuner; names are loaded on use.

    settings = hotlap.load("frozen.yaml")
    loader = hotlap.loader(dataset, settings, batch_size=64, shuffle=True)
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "Settings": "hotlap.settings",
    "load": "hotlap.frozen",
    "load_frozen": "hotlap.frozen",
    "Workload": "hotlap.workload",
    "preparing": "hotlap.progress",
    "Step": "hotlap.apply",
    "autotune": "hotlap.autotune",
    "apply": "hotlap.apply",
    "apply_process": "hotlap.apply",
    "loader": "hotlap.apply",
    "model": "hotlap.apply",
    "optimizer": "hotlap.apply",
    "kernel_arguments": "hotlap.apply",
    "set_kernel": "hotlap.apply",
    "autocast": "hotlap.apply",
    "scaler": "hotlap.apply",
    "to_device": "hotlap.apply",
}

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    # Public names are loaded on first use, so that `import hotlap` costs nothing and the tuner
    # process, which must not import torch, can use the torch-free modules.
    if name not in _HOMES:
        raise AttributeError(f"module 'hotlap' has no attribute {name!r}")
    home = import_module(_HOMES[name])
    # `hotlap.apply` is a module that can be called: an import would put it there anyway.
    return home if home.__name__ == f"{__name__}.{name}" else getattr(home, name)


def __dir__() -> list[str]:
    return sorted(__all__)
