"""The words `key=value` of the command line, made easy to get right.

Hydra wants `+model=x` but `data=x`, and `+model.batch_size=8` for an argument that the YAML file
does not list; whoever forgets or adds a plus is understood here all the same.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException

from conf.fault import Fault
from conf.groups import GROUPS
from conf.literal import literal

OPEN = ("model", "data", "settings", "provenance")
"""Keys whose content is open for Hydra; conf/check.py knows what may be in them."""

PATHS = ("resume", "freeze", "frozen", "record", "runner.table")
"""Keys whose values are paths: `=`, commas and blanks in them need no quotes."""

RAW = ("script", "module")
"""Keys that name a script of one's own: their values are taken as typed, whatever is in them."""

_FORM = re.compile(r"(\+\+|\+|~)?([^=\s]+?)(?:=(.*))?", re.DOTALL)


@dataclass(frozen=True)
class Word:
    """One word of the command line, taken apart: `prefix` is +, ++, ~ or empty."""

    prefix: str
    key: str
    value: str | None

    @classmethod
    def of(cls, text: str) -> Word | None:
        """The parts of `text`, or None if it has not the form of an override."""
        match = _FORM.fullmatch(text)
        return cls(match[1] or "", match[2], match[3]) if match else None

    def __str__(self) -> str:
        value = "" if self.value is None else f"={self.value}"
        return f"{self.prefix}{self.key}{value}"


def normal(text: str, multirun: bool = False) -> str:
    """The override as Hydra wants it: the plus where it belongs, quotes around a path."""
    word = Word.of(text)
    if word is None or word.prefix == "~" or word.value is None:
        return text
    prefix, value = word.prefix, word.value
    if word.key in GROUPS["config"] and not value.startswith("{"):
        prefix = "+" if word.key == "model" else ""
    elif word.key in RAW:
        prefix, value = "", _raw(value)
    elif word.key.partition(".")[0] in OPEN and "." in word.key:
        prefix = "++"
    elif word.key in PATHS and not multirun and value[:1] not in ("'", '"', "") and value != "null":
        value = quoted(value)
    return str(Word(prefix, word.key, value))


def quoted(value: str) -> str:
    """`value` in quotes that Hydra's grammar takes off again."""
    return "'" + re.sub(r"(\\+)(?='|$)", r"\1\1", value).replace("'", "\\'") + "'"


def _raw(value: str) -> str:
    """A script's name for Hydra: as typed, unless only what Hydra reads in it can be meant."""
    in_quotes = len(value) > 1 and value[0] in ("'", '"') and value[0] == value[-1]
    if (value == "null" or in_quotes or "\\" in value) and not os.path.lexists(value):
        try:
            read = _as_hydra_reads(f"script={value}").value()
        except HydraException:
            return quoted(literal(value))
        return value if read is None else quoted(literal(str(read)))
    return quoted(literal(value))


def names_script(words: Sequence[str]) -> bool:
    """Whether one of the overrides names a script of one's own."""
    return any(word is not None and word.key in RAW for word in map(Word.of, words))


def parse(text: str, groups: Mapping[str, Sequence[str]]) -> Override | Fault:
    """One override as Hydra reads it, or what is wrong with its form."""
    word = Word.of(text)
    here = f"command line: {text}"
    if word is None or (word.value is None and word.prefix != "~"):
        return _bare(text, groups)
    tries = [text]
    if word.value and word.value[0] not in "[{'\"":
        # A URL or a path with characters of Hydra's grammar in it is meant as it was typed.
        tries.append(str(Word(word.prefix, word.key, quoted(word.value))))
    for attempt in tries:
        try:
            return _as_hydra_reads(attempt)
        except HydraException:
            continue
    if word.key == "script_args":
        args = (word.value or "").strip("[]").replace(",", " ")
        return Fault(
            what=f"'{text}' cannot be read as key=value",
            where=here,
            right="a script's arguments follow a bare --, as one would type them after its name",
            cure=f"-- {args}",
            key=word.key,
        )
    return Fault(
        what=f"'{text}' cannot be read as key=value",
        where=here,
        right="brackets and quotes are closed; in quotes a text may hold anything",
        cure=f"""'{word.prefix}{word.key}="{(word.value or "").strip("[{")}"'""",
        key=word.key,
    )


@cache
def _as_hydra_reads(text: str) -> Override:
    return OverridesParser.create().parse_override(text)


def as_typed(override: Override) -> str:
    """The override without the plus signs and the quotes that `normal` put there."""
    if override.key_or_group in RAW and isinstance(override.value(), str):
        return f"{override.key_or_group}={override.value()}"
    return (override.input_line or "").removeprefix("++")


def _bare(text: str, groups: Mapping[str, Sequence[str]]) -> Fault:
    """The fault of a word without `=`."""
    group = next((name for name, known in groups.items() if text.lstrip("+") in known), "")
    plus = "+" if group == "model" else ""
    cure = f"{plus}{group}={text.lstrip('+')}" if group else "key=value, such as budget=10m"
    right = f"'{text}' is an option of the group {group}" if group else "a key, = and its value"
    if not group and is_script(text):
        return a_bare_script(text)
    return Fault(
        what=f"'{text}' is not of the form key=value",
        where=f"command line: {text}",
        right=right,
        cure=cure,
        key=text,
    )


def is_script(word: str) -> bool:
    """Whether a word of the command line is a file's name alone."""
    return "=" not in word and os.path.isfile(word)


def a_bare_script(script: str, args: Sequence[str] = ()) -> Fault:
    """The fault of a script as after `python`, with what was typed as its arguments."""
    typed = shlex.join([script, *args])
    right = "a script of your own is named with script="
    return Fault(
        what=f"'{typed}' is not of the form key=value",
        where=f"command line: {typed}",
        right=f"{right}, and its arguments follow a bare --" if args else right,
        cure=shlex.join([f"script={script}", *(["--", *args] if args else [])]),
        key="model",  # that no model is named is the same mistake
    )
