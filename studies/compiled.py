"""What compilation costs where nothing has been compiled before, for trials that found it done.

Torch keeps on disk what it compiles, so of a study's trials only the first with a compile mode pays
all of it; those after it, and the proof is among them, pay for loading. A full run in a new
container or on another machine pays what the first one did.
"""

from __future__ import annotations

from dataclasses import replace

from optuna.trial import FrozenTrial

from hotlap.measurement import Measurement
from hotlap.settings import Settings


class Compiled:
    """Remembers the dearest compilation with each compile mode."""

    def __init__(self) -> None:
        self._dearest_s: dict[str, float] = {}

    def learn(self, compile_mode: str, compile_s: float) -> None:
        """What a trial paid, of whichever session."""
        if compile_mode != "none":
            known_s = self._dearest_s.get(compile_mode, 0.0)
            self._dearest_s[compile_mode] = max(known_s, compile_s)

    def from_nothing(self, settings: Settings, measurement: Measurement) -> Measurement:
        """The measurement as if nothing had been compiled before it, as far as that is known."""
        dearest_s = self._dearest_s.get(settings.compile_mode, 0.0)
        return replace(measurement, compile_s=max(measurement.compile_s, dearest_s))


def compiled(trial: FrozenTrial) -> tuple[str, float]:
    """The compile mode of a trial of the ledger, and what it says of its cost; 0 if it does not."""
    noted = trial.user_attrs
    mode = Settings.from_dict(noted["settings"]).compile_mode
    return mode, float(noted.get("compile_s") or 0.0)
