"""Elsewhere: frozen settings on another machine, or for another workload, than they were proven on.

They still train the same; but other settings may be better there, and nothing was promised.
`train.py`, `python -m hotlap run` and `hotlap.autotune` say so in the same words. No torch here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hotlap.frozen import plain
from hotlap.settings import Settings
from hotlap.spoken import count

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
}
"""Facts on which the best settings depend, and what a sentence calls them."""

HARDWARE = ("device_name", "cpu", "cores", "physical_cores")
"""Facts that make it another machine. Rates of two versions of torch may well be compared."""

WORKLOAD = ("model_digest", "batch_size", "batch_shapes", "dataset_kind", "optimizer")
"""Facts that make it another workload (see hotlap/structure.py)."""

VARYING = "dimensions"
"""How shapes of batches end that vary, and so tell nothing of a single batch."""

ON_CORES = {"num_workers": "loader worker", "intraop_threads": "thread"}
"""Settings that count what runs on the cores at once, and what one of these is."""


def differences(
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


def made_for(provenance: Mapping[str, Any], facts: Mapping[str, Any]) -> str:
    """What else the figures of a frozen file were measured on; empty if nothing is known to differ.

    Args:
        provenance: The frozen file's; its `facts` are compared.
        facts: Those known here, of the machine and of the workload.
    """
    then, now = _flat(provenance.get("facts") or {}), _flat(facts)
    places = {"another machine": HARDWARE, "another workload": WORKLOAD}
    found = [at for at, names in places.items() if any(_differs(n, then, now) for n in names)]
    return " and ".join(found)


def crowding(
    settings: Settings,
    provenance: Mapping[str, Any],
    cores: int,
    cure: Callable[[Mapping[str, int]], str],
) -> str:
    """The sentence for settings that start more than the cores here can run at once, or "".

    Those that a study on as many cores has proven are as they should be: samples may wait. What
    was typed, or written into a file, nobody has measured.

    Args:
        settings: What is going to be in force.
        provenance: The frozen file's; empty without one.
        cores: Usable ones here.
        cure: What to type or to write for these values in place of the settings' own.
    """
    then = _flat(provenance.get("facts") or {}).get("cores")
    tuned = provenance.get("tuned")
    proven = tuned if then == cores and isinstance(tuned, list) else ()
    many = {name: getattr(settings, name) or 0 for name in ON_CORES if name not in proven}
    many = {name: n for name, n in many.items() if n > cores}
    if not many:
        return ""
    told = " and ".join(count(n, ON_CORES[name]) for name, n in many.items())
    chosen = "nothing says for how many they were chosen"
    if then:
        chosen = f"they were chosen for {then}"
    if then == cores:
        chosen = "no study has proven that so many pay"
    return (
        f"{told} on {count(cores, 'core')}: {chosen}; unless samples wait for a disk or a network, "
        f"{cure(dict.fromkeys(many, cores))}, or tune on this machine"
    )


def typed(path: str = "") -> Callable[[Mapping[str, int]], str]:
    """The cure where settings are typed, after those of the file at `path` if there is one."""

    def cure(values: Mapping[str, int]) -> str:
        words = [f"settings={path}"] if path else []
        return f"type {' '.join([*words, *(f'settings.{n}={v}' for n, v in values.items())])}"

    return cure


def written(path: str) -> Callable[[Mapping[str, int]], str]:
    """The cure where the file at `path` alone says what is in force."""

    def cure(values: Mapping[str, int]) -> str:
        return f"write {' and '.join(f'{n}: {v}' for n, v in values.items())} into {path}"

    return cure


def _differs(name: str, then: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    if name not in then or name not in now:
        return False
    old, new = plain(then[name]), plain(now[name])
    varies = name == "batch_shapes" and VARYING in f"{old} {new}"
    return bool(old != new) and not varies


def _flat(facts: Mapping[str, Any]) -> dict[str, Any]:
    flat = dict(facts)
    for value in facts.values():
        if isinstance(value, Mapping):
            flat.update(value)
    return flat


def _words(value: Any) -> str:
    return "absent" if value in (None, "") else str(value)
