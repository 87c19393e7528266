"""Checking the search space: each knob's range, conditions and words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import yaml

from conf.check_knob import GROUP, as_yaml, is_whole, knob_fault, range_faults, yaml_hint
from conf.fault import Fault, among, nearest
from conf.merge import no_such_key
from conf.schema import Knob, TuneConfig
from conf.sources import Sources, shown
from hotlap import settings as known
from search_spaces.hardware import WORDS
from search_spaces.knob import NUMERICS


def faults(config: TuneConfig, sources: Sources) -> Iterator[Fault]:
    """All that is wrong with the search space of `config`."""
    if not config.search_space:
        yield sources.fault(
            GROUP,
            what="the search space is empty",
            right="one knob at least",
            cure=f"{GROUP}=[dataloader,memory_format]",
        )
    for name, knob in config.search_space.items():
        if name not in known.NAMES:
            yield no_such_key((GROUP, name), known.NAMES, sources.where(f"{GROUP}.{name}"))
            continue
        yield from _twice(name, sources)
        yield from range_faults(name, knob, sources)
        yield from _conditions(name, knob, config, sources)


def _twice(name: str, sources: Sources) -> Iterator[Fault]:
    """Hydra would merge two files' knobs key by key, and nobody would know what came of it."""
    files = sources.definitions(f"{GROUP}.{name}", GROUP)
    if len(files) > 1:
        keep = files[-1].name.partition("/")[2]
        yield Fault(
            what=f"{len(files)} chosen files define the knob {name}",
            where=" and ".join(file.where(f"{GROUP}.{name}") for file in files),
            right="one file for each knob",
            cure=f"{GROUP}=[...] with only one of "
            f"{', '.join(shown(f.path) for f in files)}, such as {keep}",
            key=f"{GROUP}.{name}",
        )


def _conditions(name: str, knob: Knob, config: TuneConfig, sources: Sources) -> Iterator[Fault]:
    yield from _words(name, knob, sources)
    if knob.numerics not in NUMERICS:
        close = nearest(knob.numerics, NUMERICS) or "exact"
        what = f"numerics of the knob {name} is '{knob.numerics}'"
        yield knob_fault(name, "numerics", what, among(NUMERICS), close, sources)
    if knob.when is not None:
        yield from _when(name, knob, config, sources)


def _words(name: str, knob: Knob, sources: Sources) -> Iterator[Fault]:
    places = [("requires", word) for word in knob.requires]
    for choice, words in knob.choice_requires.items():
        places += [(f"choice_requires.{choice}", word) for word in words]
        if isinstance(knob.choices, list) and not _is_choice(name, choice, knob.choices):
            yield knob_fault(
                name,
                f"choice_requires.{choice}",
                f"choice_requires of the knob {name} names '{choice}', which is no choice",
                among(as_yaml(c) for c in knob.choices),
                f"~{GROUP}.{name}.choice_requires.{choice}",
                sources,
                whole=True,
            )
    for part, word in places:
        if word not in WORDS:
            close = nearest(word, WORDS)
            right = f"did you mean '{close}'?" if close else among(WORDS)
            what = f"the knob {name} requires '{word}', which is no fact"
            yield knob_fault(name, part, what, right, f"[{close or WORDS[0]}]", sources)


def _is_choice(name: str, text: str, choices: list[Any]) -> bool:
    """Whether `text` is one of the choices, or one that was left out: it needs nothing then."""
    if text in [as_yaml(choice) for choice in choices]:
        return True
    try:
        return not known.faults({name: yaml.safe_load(text)})
    except yaml.YAMLError:
        return False


def _when(name: str, knob: Knob, config: TuneConfig, sources: Sources) -> Iterator[Fault]:
    when = knob.when
    assert when is not None
    others = [n for n in known.NAMES if n != name]
    # A setting that is not sampled has the value under `settings`, so it is a condition as well.
    if when.knob not in others:
        sampled = [n for n in config.search_space if n != name and n in known.NAMES]
        close = nearest(when.knob, others)
        right = f"did you mean '{close}'?" if close else among(sampled or others)
        what = f"the knob {name} is active when '{when.knob}' has a value"
        what += ", which is itself" if when.knob == name else ", which is no knob"
        yield knob_fault(name, "when.knob", what, right, close or (sampled or others)[0], sources)
        return
    if (when.above is None) == (when.equals is None):
        both = "both" if when.above is not None else "neither"
        what = (
            f"`when` of the knob {name} has {both} above and equals"
            if both == "both"
            else (f"`when` of the knob {name} has neither above nor equals")
        )
        yield knob_fault(
            name,
            "when",
            what,
            "one of them: above a number, or equals a value",
            f"{{knob: {when.knob}, equals: {as_yaml(getattr(known.Settings, when.knob))}}}",
            sources,
        )
    elif when.above is not None and (not is_whole(when.above) or when.knob not in known.MINIMUM):
        what = f"`when` of the knob {name} asks whether {when.knob} is above {when.above!r}"
        right = "a whole number, and a knob that is a number; or equals"
        yield knob_fault(name, "when.above", what, right, "0", sources)
    elif when.equals is not None and (text := known.faults({when.knob: when.equals})):
        _, _, takes = text[when.knob].partition("; ")
        what = f"`when` of the knob {name} asks whether {when.knob} equals {when.equals!r}"
        hint = yaml_hint(when.equals, known.CHOICES.get(when.knob, ()))
        default = as_yaml(getattr(known.Settings, when.knob))
        yield knob_fault(name, "when.equals", what, f"{takes}{hint}", default, sources)
