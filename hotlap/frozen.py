"""Frozen settings: the winner as YAML, written by the tuner and read everywhere.

The file is an option of the Hydra group `settings` and plain data at once. No torch and no Hydra
here: the tuner writes it, and a full run in a foreign environment reads it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from hotlap.errors import FrozenFileError
from hotlap.figures import unusable
from hotlap.job import write_text
from hotlap.settings import NAMES, Settings, faults, near

HEADER = """\
# @package _global_
# Frozen settings, written by hotlap: runtime settings only, nothing that changes what is learned.
#   {command}
#   settings = hotlap.load("{path}")    # in your own code
"""

OF_A_MODEL = "python train.py +model=... settings={path}"
OF_A_SCRIPT = "python -m hotlap run --settings {path} {script}"

TOP_KEYS = ("settings", "provenance")

CONFIGS = {"search_space": "a study", "checkpoint_every_s": "a full run"}
"""Whose config.yaml has a key; all its keys would be mistakes in a frozen file."""


@dataclass(frozen=True)
class Frozen:
    """A frozen settings file.

    Attributes:
        settings: What it puts in force.
        provenance: Where the settings come from and what they were worth; empty in a file
            written by hand.
        path: The file.
    """

    settings: Settings
    provenance: dict[str, Any] = field(default_factory=dict)
    path: Path = Path()


def load(path: str | Path) -> Settings:
    """The settings of a frozen file.

    Raises:
        FrozenFileError: The file cannot be read; all mistakes at once, each with its line.
    """
    return load_frozen(path).settings


def load_frozen(path: str | Path) -> Frozen:
    """A frozen file with its provenance. Settings that it does not name keep PyTorch's default.

    Raises:
        FrozenFileError: The file cannot be read; all mistakes at once, each with its line.
    """
    path = Path(path)
    node, values = _read(path)
    if whose := whose_config(values):
        frozen = path.with_name("frozen.yaml")
        there = f"its frozen settings lie beside it: {frozen}"
        cure = there if frozen.is_file() else "name the frozen.yaml of a study"
        raise FrozenFileError(
            f"{path} is the config of {whose} and no frozen settings file; {cure}"
        )
    wrong = list(_mistakes(node, values))
    if wrong:
        lines = "\n".join(f"  {path}:{line}: {text}" for line, text in sorted(wrong))
        raise FrozenFileError(
            f"{path} is no usable frozen settings file:\n{lines}\n"
            "Correct these lines, or write the file anew with `python tune.py ... freeze=PATH`."
        )
    provenance = dict(values.get("provenance") or {})
    return Frozen(Settings.from_dict(values["settings"] or {}), provenance, path)


def dump(path: str | Path, settings: Settings, provenance: Mapping[str, Any]) -> None:
    """Write a frozen file, aside first and then renamed; its folder is made where it is missing.

    Its head has the command of a full run: of the script that was tuned, if it was one. Settings
    stand in the order of `hotlap.settings.NAMES`, without those that mean nothing beside
    the others (`prefetch_factor` without workers).
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    values = settings.to_dict()
    content = {
        "settings": {name: values[name] for name in NAMES if name in values},
        "provenance": plain(provenance),
    }
    body = yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=100)
    script = provenance.get("script")
    command = (OF_A_SCRIPT if script else OF_A_MODEL).format(path=path.name, script=script)
    write_text(path, HEADER.format(path=path.name, command=_on_one_line(command)) + body)


def _on_one_line(command: str) -> str:
    """As bash, zsh and ksh write within quotes what a comment cannot hold, a line break say."""
    return "".join(c if c.isprintable() else f"'${ascii(c)}'" for c in command)


class _InFull(yaml.SafeLoader):
    """Refuses aliases (`*name`): with them a kilobyte stands for more than any memory holds.

    Whoever copies, checks or writes the values would write all of it out; a frozen file needs none.
    """

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            event = self.peek_event()  # type: ignore[no-untyped-call]
            told = f"`*{event.anchor}` stands for what is said elsewhere; write it out here"
            raise yaml.composer.ComposerError(None, None, told, event.start_mark)
        return super().compose_node(parent, index)


def compose(text: str) -> yaml.Node | None:
    """The nodes of a frozen file's text, without values: the first thing that is done with it.

    Raises:
        yaml.YAMLError: It is no YAML, or does not say everything in full.
    """
    node: yaml.Node | None = yaml.compose(text, Loader=_InFull)
    return node


def _read(path: Path) -> tuple[yaml.MappingNode, dict[str, Any]]:
    """What is in a file, with its lines and as values; of one and the same reading."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise FrozenFileError(
            f"there is no frozen settings file at {path}; check the path, or make one with "
            "`python tune.py ... freeze=PATH`"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise FrozenFileError(
            f"the frozen settings file {path} cannot be read: {error}; it has to be a text file"
        ) from None
    try:
        node = compose(text)
        values = yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        raise FrozenFileError(
            f"{path}:{line}: this is no plain YAML: {error.problem}; each line has to be "
            "`name: value`, indented by spaces"
        ) from None
    except (yaml.YAMLError, RecursionError, ValueError) as error:  # a date such as 2026-02-31
        raise FrozenFileError(f"{path}: this is no plain YAML: {error}") from None
    if not isinstance(node, yaml.MappingNode):
        what = "empty" if node is None else "no mapping"
        raise FrozenFileError(
            f"{path}:1: the file is {what}; it has to begin with `settings:` and below it, "
            "indented, lines like `num_workers: 4`"
        )
    return node, values


def whose_config(keys: Collection[str]) -> str:
    """Whose config.yaml has these keys: "a study", "a full run", or "" for nobody's."""
    return next((whose for key, whose in CONFIGS.items() if key in keys), "")


def _mistakes(node: yaml.MappingNode, values: Mapping[str, Any]) -> Iterator[tuple[int, str]]:
    """(line, sentence) for each thing that is wrong in the file."""
    lines = defaultdict(lambda: 1, _lines(node))  # what a merge (`<<`) brings has none of its own
    yield from _repeated(node)
    for key in values:
        if key not in TOP_KEYS:
            yield lines[key], f"unknown key '{key}'{near(str(key), TOP_KEYS)}"
    if "settings" not in values:
        yield 1, "the key `settings` is missing; put the settings below it, indented"
    origin = values.get("provenance") or {}
    if not isinstance(origin, Mapping):
        yield lines["provenance"], "`provenance` has to hold lines like `speedup: 1.7`"
    else:
        within = _below(node, "provenance")
        for name, text in unusable(origin):
            yield within[name] if name in within else lines["provenance"], text
    settings = values.get("settings") or {}
    if not isinstance(settings, Mapping):
        yield lines["settings"], "`settings` has to hold lines like `num_workers: 4`, indented"
        return
    if (inner := _inner(node, "settings")) is not None:
        yield from _repeated(inner)
    within = _below(node, "settings")
    for name, text in faults(settings).items():
        yield within[name] if name in within else lines["settings"], text


def _inner(node: yaml.MappingNode, name: str) -> yaml.MappingNode | None:
    inner = next((value for key, value in node.value if key.value == name), None)
    return inner if isinstance(inner, yaml.MappingNode) else None


def _below(node: yaml.MappingNode, name: str) -> dict[Any, int]:
    """The line of each key that stands below the key `name`."""
    inner = _inner(node, name)
    return {} if inner is None else _lines(inner)


def _lines(node: yaml.MappingNode) -> dict[Any, int]:
    # Keys as YAML reads them: `on` is true. A merge (`<<`) has no value of its own.
    read = yaml.SafeLoader("").construct_object
    merges = ("tag:yaml.org,2002:merge", "tag:yaml.org,2002:value")
    return {
        key.value if key.tag in merges else read(key, deep=True): key.start_mark.line + 1
        for key, _ in node.value
    }


def _repeated(node: yaml.MappingNode) -> Iterator[tuple[int, str]]:
    seen: dict[Any, int] = {}
    for key, _ in node.value:
        line = key.start_mark.line + 1
        if key.value in seen:
            yield line, f"'{key.value}' stands on line {seen[key.value]} already; keep one of them"
        seen.setdefault(key.value, line)


def plain(value: Any) -> Any:
    """As YAML and JSON know it: numpy's numbers, tuples and paths become plain data."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item) for item in value]
    if isinstance(value, bool) or value is None:
        return value
    for kind in (int, float, str):
        if isinstance(value, kind):
            return kind(value)
    return plain(value.item()) if hasattr(value, "item") else str(value)
