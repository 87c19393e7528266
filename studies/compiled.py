"""What compilation costs where nothing has been compiled before, for trials that found it done.

Torch keeps on disk what it compiles, so of a study's trials only the first with a graph pays all of
it; those after it, and the proof is among them, pay for loading. A full run in a new container or
on another machine pays what the first one did. So each graph's compilation is measured once. cuDNN
chooses its algorithms anew in each process: what that takes is charged to others only where the
graph's first trial had to choose too, so that nobody can tell the two apart.
"""

from __future__ import annotations

from dataclasses import replace

from optuna.trial import FrozenTrial

from hotlap.measurement import Measurement
from hotlap.settings import Settings
from hotlap.warm_up import WarmUp
from studies.durations import EAGER

GRAPH = ("compile_mode", "amp", "memory_format", "sdpa_backend", "micro_batch_size")
"""Settings with which another graph is compiled, or the same one in another way and for as long as
it takes. (Threads and the precision of matmuls may have to be compiled anew too, for as long.)"""

CHOICE = ("cudnn_benchmark", "cudnn_benchmark_limit", "cudnn_deterministic")
"""Settings that say how long each process chooses algorithms, which no disk keeps."""

Key = tuple[object, ...]


class Compiled:
    """Remembers what each graph's first compilation took."""

    def __init__(self) -> None:
        self._first_s: dict[Key, float] = {}
        self._dearest_s: dict[tuple[Key, Key], float] = {}
        self._on_disk: set[Key] = set()  # by trials of this session, for each compiles anew

    def learn(self, settings: Settings, compile_s: float) -> None:
        """What a trial paid, of whichever session; 0 where nobody knows."""
        if settings.compile_mode == EAGER or compile_s <= 0:
            return
        graph, choice = graph_of(settings), _values(settings, CHOICE)
        self._first_s.setdefault(graph, max(compile_s, self._known_s(settings)))
        known_s = self._dearest_s.get((graph, choice), 0.0)
        self._dearest_s[graph, choice] = max(known_s, compile_s)

    def remember(self, settings: Settings, measurement: Measurement) -> None:
        """A trial of this session has ended, however it did: what it compiled is on disk."""
        paid_s = _paid_s(measurement)
        self.learn(settings, paid_s)
        if measurement.warmup or paid_s > 0:
            self._on_disk.add(graph_of(settings))

    def from_nothing(self, settings: Settings, measurement: Measurement) -> Measurement:
        """The measurement as if nothing had been compiled before it, as far as that is known."""
        known_s = self._known_s(settings)
        return replace(measurement, compile_s=max(_paid_s(measurement), known_s))

    def is_on_disk(self, settings: Settings) -> bool:
        """Whether a trial of this session has compiled the same."""
        return graph_of(settings) in self._on_disk

    def expected_s(self, settings: Settings) -> float:
        """What compiling these from nothing will take; 0 if nobody knows.

        As long as it did, or else as the dearest graph with their mode.
        """
        return self._known_s(settings) or self._dearest_of_mode_s(settings)

    def cold_s(self, settings: Settings) -> float:
        """The same for their next trial: 0 too where it will find that done."""
        return 0.0 if self.is_on_disk(settings) else self.expected_s(settings)

    def _known_s(self, settings: Settings) -> float:
        """What their trial would have paid at the least, had nothing been compiled before it."""
        graph, choice = graph_of(settings), _values(settings, CHOICE)
        if graph in self._first_s:
            return max(self._first_s[graph], self._dearest_s.get((graph, choice), 0.0))
        return self._dearest_of_mode_s(settings) if graph in self._on_disk else 0.0

    def _dearest_of_mode_s(self, settings: Settings) -> float:
        of_mode = (s for graph, s in self._first_s.items() if graph[0] == settings.compile_mode)
        return max(of_mode, default=0.0)


def compiled(trial: FrozenTrial) -> tuple[Settings, float]:
    """The settings of a trial of the ledger, and what it says of their compilation's cost."""
    noted = trial.user_attrs
    return Settings.from_dict(noted["settings"]), float(noted.get("compile_s") or 0.0)


def graph_of(settings: Settings) -> Key:
    """What trials have alike that find each other's compilation on disk."""
    return _values(settings, GRAPH)


def _paid_s(measurement: Measurement) -> float:
    """What a trial paid; one that was stopped in its warm-up has not said it, but its steps do."""
    if measurement.compile_s > 0 or measurement.blocks:
        return measurement.compile_s
    warm_up = WarmUp(block_s=1.0, unit=1, n_prefetched=0)  # only its slow blocks are asked for
    for block in measurement.warmup:
        warm_up.add(block)
    return warm_up.compile_s


def _values(settings: Settings, names: tuple[str, ...]) -> Key:
    return tuple(getattr(settings, name) for name in names)
