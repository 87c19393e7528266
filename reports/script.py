"""What was found in somebody's own script, in sentences for the user."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from hotlap.settings import AGAINST_DETERMINISM, NAMES, Settings

OWN = {
    "autocast": "an autocast of its own",
    "scaler": "a GradScaler of its own",
    "compile": "its own compilation",
    "deterministic": "a wish for determinism",
    "thread": "a model that is called in another thread",
    "function": "a function that it compiles, with the model in it",
}

OVERRULED_BY = {
    "autocast": ("amp",),
    "scaler": ("amp",),
    "compile": ("compile_mode",),
    "deterministic": AGAINST_DETERMINISM,
}
"""Settings that `override` names to win over it; what is not here always stays."""

MUCH_BYTES = 1 << 20
"""Less than that nobody has downloaded."""


def found_in_script(
    seen: Mapping[str, Any],
    scratch: Mapping[str, Any],
    override: Collection[str] = (),
    own_settings: Mapping[str, Any] | None = None,
) -> list[str]:
    """Sentences about loaders, model, optimizers and what the script decides itself.

    Args:
        seen: hotlap.interpose.seen.Seen as plain data.
        scratch: `why_not`, `real` and `written_bytes` of hotlap.scratch.Scratch, and `trackers`.
        override: Settings that win even over what the script asks for.
        own_settings: Those that the script has by itself (see hotlap/script/probe.py).
    """
    lines = [*_loaders(seen["loaders"])]
    roots = ", ".join(dict.fromkeys(root["name"] for root in seen["roots"]))
    optimizers = ", ".join(one["name"] for one in seen["optimizers"])
    lines.append(f"model {roots or 'not seen'}, optimizer {optimizers or 'not seen'}{_steps(seen)}")
    if place := seen["own"].get("process"):
        lines.append(
            f"it trains in a process that it forks ({_short(place)}); where several do, the first "
            "one that steps is timed alone, beside the others"
        )
    lines += _own(seen["own"], override)
    if sets := [*_sets(seen, override), *_made_so(seen, own_settings or {})]:
        lines.append(f"it sets {', '.join(sets)}: its baseline, which trials may overrule")
    if trackers := scratch.get("trackers"):  # facts of an earlier version have none
        lines.append(
            f"it has imported {', '.join(trackers)}: if that logs to a server, each trial does so "
            "too, which no copy of a folder undoes; switch it off by an option or a variable of "
            "its own (wandb: WANDB_MODE=disabled)"
        )
    return [f"in the script: {line}" for line in lines] + _scratch(scratch)


def _own(own: Mapping[str, str], override: Collection[str]) -> list[str]:
    """What it decides itself: a sentence for what stays, one for what trials may overrule."""
    stays: list[str] = []
    yields: list[str] = []
    for name, place in own.items():
        if name in OWN:
            wins = any(setting in override for setting in OVERRULED_BY.get(name, ()))
            (yields if wins else stays).append(f"{OWN[name]} ({_short(place)})")
    lines = []
    if stays:
        lines.append(f"it has {' and '.join(stays)}, which {'stay' if stays[1:] else 'stays'}")
    if yields:
        words = ",".join(override)
        lines.append(
            f"it has {' and '.join(yields)}, which trials may overrule (override=[{words}])"
        )
    return lines


def _sets(seen: Mapping[str, Any], override: Collection[str]) -> list[str]:
    """What it sets and trials may set otherwise: nothing that its wish for determinism keeps."""
    determined = AGAINST_DETERMINISM if "deterministic" in seen["own"] else ()
    kept = [name for name in determined if name not in override]
    return [
        f"{one['name']}={one['value']} ({_short(one['where'])})"
        for one in seen["sets"].values()
        if one["name"] in NAMES and one["name"] not in kept
    ]


def _made_so(seen: Mapping[str, Any], own_settings: Mapping[str, Any]) -> list[str]:
    """What its training loader, model and optimizer have that is not PyTorch's default.

    Not what it sets by a call, which is told with its place, nor what the loader's line says.
    """
    told = {*seen["sets"], "num_workers"}
    return [
        f"{name}={value}"
        for name, value in own_settings.items()
        if name not in told and value != getattr(Settings, name, value)
    ]


def _scratch(scratch: Mapping[str, Any]) -> list[str]:
    if why_not := scratch["why_not"]:
        return [f"trials write into the script's real working folder: {why_not}"]
    lines = []
    if scratch["real"]:
        names = ", ".join(scratch["real"])
        lines.append(f"trials write into a copy of the working folder, but really into {names}")
    if scratch["written_bytes"] > MUCH_BYTES:
        lines.append(
            f"each trial writes {scratch['written_bytes'] / MUCH_BYTES:.0f} MiB into a copy of the "
            "working folder, which goes with it; if that is a download or a cache, run the script "
            "once by itself first"
        )
    return lines


def _loaders(loaders: Sequence[Mapping[str, Any]]) -> list[str]:
    if not loaders:
        return ["no DataLoader; a sample is one optimizer step here"]
    lines = []
    for one in loaders:
        trains = "trains" if one["n_steps"] else "does not train"
        batch = f"batch_size {one['batch_size']}, " if one["batch_size"] else ""
        lines.append(
            f"{one['name']} of {one['dataset']} ({_short(one['where'])}), {batch}"
            f"{one['num_workers']} workers, {trains}"
        )
    return lines


def _steps(seen: Mapping[str, Any]) -> str:
    """What is no step for each batch; nothing where it is not known, or not the same for all."""
    training = [one for one in seen["loaders"] if one["n_steps"]]
    rates = {one.get("steps_per_batch") for one in training}  # facts of an earlier version: none
    rate = rates.pop() if len(rates) == 1 else None
    if not rate or (count := f"{max(rate, 1 / rate):.2g}") == "1":
        return ""
    return f", a step every {count} batches" if rate < 1 else f", {count} steps with each batch"


def _short(place: str) -> str:
    """`train.py:12` of a path with a line."""
    return Path(place).name
