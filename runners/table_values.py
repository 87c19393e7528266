"""What the keys of a recorded table may hold, so that nothing stumbles over a value later.

Keys that are not listed are free; docs/tables.md says what each one means.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from hotlap.settings import NAMES, near
from hotlap.settings import faults as setting_faults
from runners.table_space import AUTO

LEAST, MOST = 1e-9, 1e18
"""A nanosecond, and more bytes than a machine has: within them no rate leaves a float's range."""

DEPTH = 20
"""So deep may a value be nested; a workload's arguments are all that comes nested at all."""

SHOWN_CHARS = 60

Kind = tuple[Callable[[Any], bool], str]
"""A test of the value, and what it takes in words."""


def is_number(value: Any) -> bool:
    """Whether it is a number of a sane size; true, false, NaN and infinities are none."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= MOST


def is_positive(value: Any) -> bool:
    """Whether it is a number that can be divided by."""
    return is_number(value) and value >= LEAST


def _whole(value: Any) -> bool:
    return isinstance(value, int) and is_number(value)


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _mapping_of(test: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, dict) and all(map(test, value.values()))


def _gpus(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(gpu, dict) and isinstance(gpu.get("name"), str) and BYTES in gpu
        and (gpu[BYTES] is None or _whole(gpu[BYTES]) and gpu[BYTES] > 0) for gpu in value
    )  # fmt: skip


def _name(value: Any) -> bool:
    """A study's folder is named so."""
    return (
        isinstance(value, str) and value.isprintable() and bool(re.search(r"^(?!\.)[^/]+$", value))
    )


BYTES = "memory_bytes"
SECONDS: Kind = (lambda v: is_number(v) and v >= 0, "a number of seconds from 0")
FROM_ZERO: Kind = (lambda v: is_number(v) and v >= 0, "a number from 0")
NUMBER: Kind = (is_number, "a number")
COUNT: Kind = (lambda v: _whole(v) and v >= 0, "a whole number from 0")
FROM_ONE: Kind = (lambda v: _whole(v) and v >= 1, "a whole number from 1")
WHOLE: Kind = (_whole, "a whole number")
LOSS: Kind = (lambda v: isinstance(v, float) or is_number(v), "a number, be it NaN")
SWITCH: Kind = (lambda v: isinstance(v, bool), "true or false")
TEXT: Kind = (lambda v: isinstance(v, str), "a text")
TEXTS: Kind = (_texts, "a list of texts")
MAPPING: Kind = (lambda v: isinstance(v, dict), "a mapping of names to values")
NUMBERS: Kind = (_mapping_of(is_number), "a mapping of names to numbers")
NOTES: Kind = (
    lambda v: isinstance(v, list) and all(map(_mapping_of(TEXT[0]), v)),
    'a list of {"setting": ..., "reason": ...}',
)
SIDE: Kind = (lambda v: v == "both", 'only "both": trials of one side are not replayed')
DEVICE: Kind = (
    lambda v: isinstance(v, str) and bool(re.fullmatch(r"[a-z]+(:\d{1,4})?", v)),
    "cpu, cuda, or cuda: and its number",
)
GPUS: Kind = (_gpus, 'a list of {"name": ..., "memory_bytes": ...}')
BOUND: Kind = (lambda v: v == AUTO or _whole(v), "a whole number")
CHOICES: Kind = (lambda v: v == AUTO or bool(v and isinstance(v, list)), "a list of values")

BLOCK = {
    "other_cpu_share": NUMBER, "loss": LOSS, "n_ready": WHOLE, "at_step": WHOLE,
    "host_bytes": WHOLE, "open_files": WHOLE, "shared_bytes": WHOLE, "device_bytes": WHOLE,
    "stalled_s": SECONDS,
}  # fmt: skip
ROW = {
    **dict.fromkeys(("startup_s", "compile_s", "epoch_start_s", "warmup_s", "wall_s", "overhead_s",
                     "end_s"), SECONDS),
    "lost_share": FROM_ZERO, "reason": TEXT, "traceback": TEXT, "device": DEVICE, "side": SIDE,
    "epochs_in_blocks": SWITCH, "resident": SWITCH, "settled": SWITCH, "new_environment": SWITCH,
    "epoch_start_known": SWITCH,
    "n_epoch_steps": FROM_ONE, "num_workers": COUNT, "tokens_per_sample": FROM_ZERO,
    "peak_device_bytes": COUNT, "peak_host_bytes": COUNT, "n_skipped_steps": COUNT,
    "left_out_share": FROM_ZERO,
    "gpu": NUMBERS, "notes": NOTES,
}  # fmt: skip
WORKLOAD = {"function": TEXT, "args": MAPPING, "words": TEXTS, "script": MAPPING}
KNOB = {
    "choices": CHOICES, "low": BOUND, "high": BOUND, "step": FROM_ONE, "log": SWITCH,
    "when": MAPPING, "numerics": TEXT,
}  # fmt: skip
FACTS = {
    "cores": FROM_ONE, "physical_cores": FROM_ONE, "memory_bytes": FROM_ONE,
    "shm_free_bytes": COUNT, "batch_size": FROM_ONE, "batch_bytes": COUNT,
    "n_epoch_steps": FROM_ONE, "n_parameters": COUNT, "default_intraop_threads": FROM_ONE,
    "default_interop_threads": FROM_ONE, "sample_cpu_s": SECONDS, "sample_wall_s": SECONDS,
    "process_start_s": SECONDS, "device_memory_bytes": FROM_ONE,
    "device": DEVICE, "gpus": GPUS,
    **dict.fromkeys(("cpu_flags", "allocators", "optimizer_kernels", "sdpa_backends",
                     "sdpa_backends_float32"), TEXTS),
    **dict.fromkeys(("cpu", "device_name", "optimizer", "stream_sharing"), TEXT),
}  # fmt: skip
HEADER = {
    **dict.fromkeys(("settings", "facts", "window", "versions"), MAPPING),
    "setup_s": SECONDS,
}

NEVER_NULL = (
    *("settings", "facts", "window", "versions", "args", "words", "function", "side", "cores"),
    *("allocators", "epochs_in_blocks", "resident", "settled", "num_workers", "n_skipped_steps"),
    "epoch_start_known",
    "left_out_share",
    *("notes", "reason", "traceback", "other_cpu_share", "at_step"),
    *("startup_s", "compile_s", "epoch_start_s", "warmup_s"),
)
"""Keys that are left out where nothing is known; the others may be null as well."""


def wrong(values: Mapping[str, Any], kinds: Mapping[str, Kind], at: str = "") -> Iterator[str]:
    """A sentence for each of the `values` that is not of its kind; `at` goes before its key."""
    for key, (fits, words) in kinds.items():
        if key not in values or (values[key] is None and key not in NEVER_NULL):
            continue
        if not fits(values[key]):
            yield f"{at}{key} is {brief(values[key])}; it is {words}"


def header_faults(line: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with the values of a table's first line; more of its space conf/ finds."""
    yield from wrong(line, HEADER)
    workload = line.get("workload")
    if not isinstance(workload, dict) or not _name(workload.get("name")):
        yield (
            f'workload is {brief(workload)}; write {{"name": "my_model"}} at the least, a name '
            "that a folder can have"
        )
    else:
        yield from wrong(workload, WORKLOAD, "workload.")
    facts, settings, space = line.get("facts"), line.get("settings"), line.get("space")
    if isinstance(facts, dict):
        yield from wrong(facts, FACTS, "facts.")
    if isinstance(settings, dict):
        yield from setting_faults(settings).values()
    if not isinstance(space, dict) or not space:
        yield (
            f"space is {brief(space)}; write each knob: "
            '{"num_workers": {"choices": [0, 2]}, ...}'
        )
        return
    for name, knob in space.items():
        yield from _knob_faults(name, knob)


def _knob_faults(name: str, knob: Any) -> Iterator[str]:
    if name not in NAMES:
        yield f"space: unknown setting '{name}'{near(name, NAMES)}"
        return
    if not isinstance(knob, dict) or not (knob.get("choices") or "low" in knob):
        yield f"space.{name} is {brief(knob)}; it takes choices, or low and high"
        return
    yield from wrong(knob, KNOB, f"space.{name}.")
    choices = knob.get("choices")
    for value in choices if isinstance(choices, list) else ():
        yield from (f"space.{name}: {text}" for text in setting_faults({name: value}).values())


def brief(value: Any) -> str:
    """The value as it may stand in a sentence."""
    text = repr(value)
    return text if len(text) <= SHOWN_CHARS else f"{text[: SHOWN_CHARS - 3]}..."


def too_deep(value: Any) -> bool:
    """Whether it is nested deeper than `DEPTH`."""
    level = [value]
    for _ in range(DEPTH):
        inner = [v.values() if isinstance(v, dict) else v for v in level]
        level = [w for v in inner if not isinstance(v, (str, int, float, type(None))) for w in v]
    return any(isinstance(v, (dict, list)) for v in level)
