"""Sources: which file and line, or which words on the command line, a config's value is from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from omegaconf import OmegaConf

from conf.fault import Fault
from conf.groups import HERE

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # in C where PyYAML was built with it

NOT_VALUES = ("defaults", "hydra")
"""Keys of a config file that steer Hydra and are no part of the config."""

SUBJECT = ("model", "data", "settings", "search_space", "script", "module", "script_args")
"""What a replay takes from its table; only a model of the same name may be typed beside it."""


@dataclass(frozen=True)
class ConfigFile:
    """One YAML file that the config is composed of.

    Attributes:
        path: Where it is.
        name: Its group and option, `search_space/amp`, or the primary's name.
        package: Where in the config its values belong, written with dots; empty: at the top.
        text: Its content.
        lines: Line of each key of the config that it sets, written with dots.
    """

    path: Path
    name: str
    package: str
    text: str
    lines: Mapping[str, int]

    @property
    def values(self) -> dict[str, Any]:
        """What it says, already at its place in the config."""
        loaded = OmegaConf.to_container(OmegaConf.create(self.text)) if self.text.strip() else {}
        values: dict[str, Any] = {}
        if isinstance(loaded, dict):
            values = {str(k): v for k, v in loaded.items() if k not in NOT_VALUES}
        for part in reversed(self.package.split(".") if self.package else []):
            values = {part: values}
        return values

    @property
    def group(self) -> str:
        """The group it is an option of; empty for a primary config."""
        return self.name.rpartition("/")[0]

    def where(self, key: str) -> str:
        """The file, with the line of `key` or of the nearest key that holds it."""
        while key:
            if key in self.lines:
                return f"{shown(self.path)}, line {self.lines[key]}"
            key = key.rpartition(".")[0]
        return shown(self.path)


@dataclass
class Sources:
    """All files of a config in the order in which they are merged, and what was typed.

    Attributes:
        files: The YAML files; a later one wins.
        typed: Key -> the words on the command line that set it.
        folders: Where config files are looked for, ours first.
        import_path: Folders in which a user's own modules are looked for first.
        program: What to type before the overrides.
        table: File and line that all of `SUBJECT` is from, in a replay.
    """

    files: Sequence[ConfigFile] = ()
    typed: dict[str, str] = field(default_factory=dict)
    folders: Sequence[Path] = (HERE,)
    import_path: Sequence[str] = ()
    program: str = "python tune.py"
    table: str = ""

    def where(self, key: str) -> str:
        """Where the value of `key` is from: the command line goes before the files."""
        typed = [word for at, word in self.typed.items() if _holds(at, key) or _holds(key, at)]
        if typed:
            return f"command line: {typed[-1]}"
        if self.table and key.partition(".")[0] in SUBJECT:
            return self.table
        part = key
        while part:
            for file in reversed(self.files):
                if part in file.lines:
                    return file.where(part)
            part = part.rpartition(".")[0]
        return "command line"

    def fault(self, at: str, *, what: str, right: str, cure: str, key: str = "") -> Fault:
        """The fault of the value at `at`; `key` is the key it is about, if that is another."""
        return Fault(what, self.where(at), right, cure, key or at)

    def definitions(self, key: str, group: str) -> list[ConfigFile]:
        """The options of `group` that say something about `key`."""
        return [file for file in self.files if file.group == group and key in file.lines]


def read(path: Path, name: str, package: str) -> ConfigFile:
    """Read a config file whose values belong under `package` (empty: at the top).

    Raises:
        OSError: It cannot be read.
        UnicodeDecodeError: It is no text in UTF-8.
        yaml.YAMLError: It is no YAML.
    """
    text = path.read_text(encoding="utf-8")
    # libyaml refuses what stands for bytes that are no UTF-8, as in a script's arguments.
    loader = yaml.SafeLoader if "\\uD" in text else _LOADER
    lines = _lines(yaml.compose(text, Loader=loader))
    at = f"{package}." if package else ""
    return ConfigFile(path, name, package, text, {f"{at}{k}": line for k, line in lines.items()})


def shown(path: Path) -> str:
    """The path as a person here would type it."""
    path = path.resolve()
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


def _lines(node: yaml.Node | None, at: str = "") -> dict[str, int]:
    found: dict[str, int] = {}
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            name = f"{at}.{key.value}" if at else str(key.value)
            found[name] = key.start_mark.line + 1
            found.update(_lines(value, name))
    return found


def _holds(outer: str, inner: str) -> bool:
    return inner == outer or inner.startswith(f"{outer}.")
