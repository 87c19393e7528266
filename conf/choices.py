"""Choices: overrides that choose an option of a group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hydra.core.override_parser.types import Override

from conf.fault import Fault, among, nearest

MANY = ("search_space",)
"""Groups of which several options may be chosen at once, as a list."""


def chooses(override: Override, groups: Mapping[str, Sequence[str]]) -> bool:
    """True if the override chooses options of a group, and is not about a value."""
    return override.key_or_group in groups and not isinstance(override.value(), dict)


def choice_fault(override: Override, groups: Mapping[str, Sequence[str]]) -> Fault | None:
    """What is wrong with the choice of a group's option."""
    group, value = override.key_or_group, override.value()
    here = f"command line: {override.input_line}"
    known, plus = groups[group], "+" if group == "model" else ""
    if override.is_delete():
        return None
    if value is None:
        return Fault(
            what=f"{group} is null",
            where=here,
            right=among(known),
            cure=f"{plus}{group}={'none' if 'none' in known else (known or ['<name>'])[0]}",
            key=group,
        )
    if isinstance(value, list) and group not in MANY:
        names = ",".join(str(v) for v in value)
        return Fault(
            what=f"{group} is a list; a study has one {group}",
            where=here,
            right="one name, or -m for one study after another",
            cure=f"-m {plus}{group}={names}",
            key=group,
        )
    wrong = [str(v) for v in (value if isinstance(value, list) else [value]) if str(v) not in known]
    if not wrong:
        return None
    close = nearest(wrong[0], known)
    cure = f"{plus}{group}={close or (known[0] if known else '<name>')}"
    if isinstance(value, list) and close:
        cure = f"{group}=[{','.join(nearest(str(v), known) or str(v) for v in value)}]"
    right = f"did you mean '{close}'? There are {', '.join(known)}" if close else among(known)
    if not known:
        right = f"conf/{group} has no options"
    return Fault(
        what=f"there is no {group} '{', '.join(wrong)}'",
        where=here,
        right=right,
        cure=cure,
        key=group,
    )
