"""Checking what the types cannot: ranges, names, and what must fit together.

Plain functions on the typed config; torch is not imported, and no user code either.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from conf import (
    check_data,
    check_objective,
    check_paths,
    check_record,
    check_resume,
    check_script,
    check_space,
    check_workload,
)
from conf.check_knob import MOST as MOST_COUNT
from conf.check_knob import as_yaml, beyond, yaml_hint
from conf.check_number import (
    COMMON_RANGES,
    MOST,
    TRAIN_RANGES,
    TUNE_RANGES,
    in_range,
    too_large,
)
from conf.duration import seconds
from conf.fault import Fault, among, nearest
from conf.groups import HERE, options
from conf.merge import no_such_key
from conf.recorded import is_replay
from conf.schema import Common, TrainConfig, TuneConfig
from conf.sources import Sources
from hotlap import settings as known
from hotlap.errors import UserInputError
from hotlap.figures import unusable
from hotlap.hidden import is_hidden
from hotlap.spoken import typed
from search_spaces.knob import NUMERICS

_DEVICE = re.compile(r"cpu|cuda(:\d+)?")


LEAST_S = 10.0
"""Shorter budgets can measure nothing anywhere: importing torch takes 2 to 3 s, and a probe comes
before the baseline. What is too short here is told once a trial's time is known
(studies/enough.py)."""

NAMED = ("runner", "tracking", "objective", "sampler", "pruner", "bank")
"""Groups whose `name` must be one that hotlap has; each has an option of that name in conf/."""


def faults(config: Common, sources: Sources) -> list[Fault]:
    """All that is wrong with a config whose types are right."""
    found = [*_common(config, sources), *check_paths.faults(config, sources)]
    if not is_replay(config):
        found = [*_subject(config, sources), *found]
    if isinstance(config, TuneConfig):
        found += [*_tune(config, sources), *check_space.faults(config, sources)]
        found += check_record.faults(config, sources)
    elif isinstance(config, TrainConfig):
        found += in_range(config, TRAIN_RANGES, sources)
        found += check_resume.faults(config, sources)
        if is_replay(config):
            found.append(_no_replay(sources))
    return found


def _subject(config: Common, sources: Sources) -> Iterator[Fault]:
    """The faults of what is tuned or trained: a model, or a script of one's own."""
    if isinstance(config, TuneConfig):
        yield from check_script.faults(config, sources)
        if config.script is not None or config.module is not None:
            return
    yield from check_workload.faults(config, sources)
    yield from check_data.faults(config, sources)


def _common(config: Common, sources: Sources) -> Iterator[Fault]:
    yield from _hidden(sources)
    yield from too_large(config, "", sources)
    yield from in_range(config, COMMON_RANGES, sources)
    for name, text in known.faults(config.settings).items():
        yield _setting(name, text, config.settings[name], sources)
    for name, value in config.settings.items():
        if name in known.NAMES and beyond(value):
            yield _setting(name, f"; at most {MOST_COUNT}", repr(value)[:40], sources)
    for key, text in unusable(config.provenance):
        yield sources.fault(
            f"provenance.{key}",
            what=text,
            right="as tune.py has written it, or no such line: then nothing is promised",
            cure="the line again, in the file of the settings",
        )
    for group in NAMED:
        if hasattr(config, group):
            yield from _name(group, getattr(config, group).name, sources)
    if config.device is not None and not _DEVICE.fullmatch(config.device):
        yield sources.fault(
            "device",
            what=f"device is '{config.device}'",
            right="cpu, cuda, or cuda: and its number; null takes cuda where there is one",
            cure="device=cuda:0",
        )
    used = config.tracking.name == "mlflow" and not os.environ.get("MLFLOW_TRACKING_URI")
    if used and is_hidden(config.tracking.uri or ""):
        yield sources.fault(
            "tracking.uri",
            what=f"tracking.uri is '{config.tracking.uri}', without the user and the password that "
            "were typed: hotlap keeps none",
            right="the whole address, typed once more or in the environment",
            cure="tracking.uri=<the address>, or export MLFLOW_TRACKING_URI=<the address>",
        )
    if not config.tracking.experiment.strip():
        yield sources.fault(
            "tracking.experiment",
            what="tracking.experiment is empty",
            right="a name for the experiment in MLflow",
            cure="tracking.experiment=hotlap",
        )


def _tune(config: TuneConfig, sources: Sources) -> Iterator[Fault]:
    yield from in_range(config, TUNE_RANGES, sources)
    try:
        budget_s = seconds(config.budget)
        if budget_s < LEAST_S and not is_replay(config) and config.record is None:
            yield sources.fault(
                "budget",
                what=f"budget is '{config.budget}', and no machine has started Python and torch "
                "and timed a trial by then",
                right="some minutes: even where a trial takes 5 s, a search and a proof take 2",
                cure="budget=10m",
            )
    except UserInputError:
        yield sources.fault(
            "budget",
            what=f"budget is '{config.budget}'",
            right="a duration: hours, minutes and seconds with their letters",
            cure="budget=90s, budget=10m or budget=1h30m",
        )
    if config.numerics not in NUMERICS:
        yield one_of("numerics", config.numerics, NUMERICS, sources)
    if config.objective.direction not in ("maximize", "minimize"):
        yield one_of(
            "objective.direction", config.objective.direction, ("maximize", "minimize"), sources
        )
    else:
        yield from check_objective.faults(config, sources)
    window = config.window
    if 0 < window.max_s < window.min_s <= MOST:
        yield sources.fault(
            "window.min_s",
            what=f"window.min_s is {typed(window.min_s)}, longer than window.max_s, "
            f"{typed(window.max_s)}",
            right="the shortest window is no longer than the longest",
            cure=f"window.max_s={typed(window.min_s)}",
        )
    if 0 < window.max_s < window.block_s <= MOST:
        yield sources.fault(
            "window.block_s",
            what=f"window.block_s is {window.block_s:g}, longer than window.max_s, "
            f"{window.max_s:g}",
            right="several blocks fit in a window: their spread says how sure the rate is",
            cure=f"window.block_s={window.max_s / 10:g}",
        )


def _no_replay(sources: Sources) -> Fault:
    return sources.fault(
        "runner",
        what="runner is replay, and a full run cannot be played",
        right="a real run",
        cure="runner=process",
    )


def one_of(key: str, value: object, words: tuple[str, ...] | list[str], sources: Sources) -> Fault:
    """The fault of a value that is not in a closed list."""
    close = nearest(str(value), words)
    meant = f"; did you mean '{close}'?" if close else yaml_hint(value, words)
    return sources.fault(
        key,
        what=f"{key} is '{value}'",
        right=f"{among(words)}{meant}",
        cure=f"{key}={close or words[0]}",
    )


def _name(group: str, name: str, sources: Sources) -> Iterator[Fault]:
    names = options(group)
    if name not in names:
        yield one_of(f"{group}.name", name, names, sources)


def _setting(name: str, text: str, value: object, sources: Sources) -> Fault:
    key = f"settings.{name}"
    where = sources.where(key)
    if name not in known.NAMES:
        rest = f"={as_yaml(value)}"
        return no_such_key(("settings", name), known.NAMES, where, rest)
    _, _, takes = text.partition("; ")
    hint = yaml_hint(value, known.CHOICES.get(name, ()))
    default = getattr(known.Settings, name)
    return Fault(
        what=f"{key} is {value!r}",
        where=where,
        right=f"{takes}{hint}",
        cure=f"{key}={as_yaml(default)}",
        key=key,
    )


def _hidden(sources: Sources) -> Iterator[Fault]:
    """A user's file that is never read, because ours has the same group and name."""
    for folder in sources.folders[1:]:
        for file in sources.files:
            own = folder / f"{file.name}.yaml"
            if file.path.is_relative_to(HERE) and own.is_file() and own.resolve() != file.path:
                yield Fault(
                    what=f"{own} has the name of a file of hotlap and would not be read",
                    where=str(own),
                    right="a name of its own",
                    cure=f"mv {own} {own.with_name('my_' + own.name)}",
                    key=file.name.partition("/")[0],
                )
