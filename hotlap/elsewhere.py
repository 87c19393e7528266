"""Frozen settings on another machine than the one they were frozen on: what is said of it.

They work there, but may no longer be the best. `train.py`, `python -m hotlap run` and
`hotlap.autotune` say so in the same words. No torch here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hotlap.frozen import plain

MACHINE = {
    "device_name": "the device",
    "cpu": "the CPU",
    "cores": "the number of usable cores",
    "physical_cores": "the number of physical cores",
    "nvidia_driver": "the NVIDIA driver",
    "torch": "torch",
    "torchvision": "torchvision",
    "cuda": "CUDA",
    "cudnn": "cuDNN",
    "python": "Python",
    "hotlap": "hotlap",
}
"""Facts on which the best settings depend, and what a sentence calls them."""


def elsewhere(
    provenance: Mapping[str, Any], facts: Mapping[str, Any], amp: str | None
) -> list[str]:
    """Sentences that say how this machine differs from the one the settings were frozen on.

    Args:
        provenance: A frozen file's; its `facts` and `versions` are compared.
        facts: This machine's: those of `hotlap.machine`, or the tuner's, and of
            `hotlap.toolchain`, in one mapping or in a mapping of mappings.
        amp: What the settings ask for, None if nothing.
    """
    then = {**_flat(provenance.get("facts") or {}), **_flat(provenance.get("versions") or {})}
    now = _flat(facts)
    found: dict[str, str] = {}
    for name, words in MACHINE.items():
        if name in then and name in now and plain(then[name]) != plain(now[name]):
            old, new = _words(then[name]), _words(now[name])
            pair = f"was {old} when the settings were frozen and is {new} here"
            # Without a GPU the device's name is the CPU's: one sentence is enough.
            found.setdefault(pair, f"{words} {pair}; they work, but may no longer be the best")
    # Where it was without them too, it was measured so, and paid.
    if amp == "bf16" and now.get("bf16") is False and then.get("bf16") is not False:
        found["bf16"] = (
            f"the settings ask for amp=bf16, and {_words(now.get('device_name'))} has no "
            "instructions for it: torch computes it in another way, which may be far slower"
        )
    return list(found.values())


def _flat(facts: Mapping[str, Any]) -> dict[str, Any]:
    flat = dict(facts)
    for value in facts.values():
        if isinstance(value, Mapping):
            flat.update(value)
    return flat


def _words(value: Any) -> str:
    return "absent" if value in (None, "") else str(value)
