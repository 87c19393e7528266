"""A knob has choices or a range: whoever gives the one takes back the other.

Hydra merges key by key, so `search_space.num_workers.high=4` alone would leave the choices of the
file beside it.
"""

from __future__ import annotations

from omegaconf import DictConfig

from search_spaces.knob import AUTO

RANGE = ("low", "high", "step", "log")


def last_word(config: DictConfig, typed: set[str]) -> None:
    """Make the knobs of `config` say one thing.

    Bounds go before `choices: auto`, and a bound that is missing then is `auto`. Choices that were
    `typed` on the command line go before a file's range. Anything else is left for the check.
    """
    for name, knob in config.get("search_space", {}).items():
        if knob is None:
            continue
        key = f"search_space.{name}"
        bounds = [part for part in ("low", "high") if knob.get(part) is not None]
        if knob.get("choices") == AUTO and bounds:
            knob.choices = None
            for part in ("low", "high"):
                knob[part] = AUTO if knob[part] is None else knob[part]
        elif f"{key}.choices" in typed and not any(f"{key}.{part}" in typed for part in RANGE):
            knob.low = knob.high = knob.step = None
            knob.log = False
