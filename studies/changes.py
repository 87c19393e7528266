"""Changes: in what settings differ from the baseline, and how they are without some of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from hotlap.settings import NEEDS_WORKERS, Settings


def differing(settings: Settings, baseline: Settings) -> list[str]:
    """Names of the settings that differ from the baseline's and mean something."""
    theirs: Mapping[str, Any] = baseline.to_dict()
    return [
        name
        for name, value in settings.to_dict().items()
        if value != theirs.get(name, getattr(baseline, name))
    ]


def without(names: Sequence[str], settings: Settings, baseline: Settings) -> Settings:
    """The settings with these as the baseline has them."""
    back: dict[str, Any] = {name: getattr(baseline, name) for name in names}
    if back.get("num_workers") == 0:  # what workers would do goes with them
        back |= {name: getattr(baseline, name) for name in NEEDS_WORKERS}
    return replace(settings, **back)
