"""Descent: the first proposals of a search, one knob at a time from the best settings so far.

A space of ten thousand settings and time for twenty trials: a sampler that begins with random
points spends them all on points where one bad value hides three good ones. But most knobs help or
harm on their own, and it is known which are likely to pay. So the first trials change one knob of
the incumbent (the baseline or the expert, whichever is faster, then whatever beat it), the likely
ones first, each value once. Then the sampler goes on, with these trials as its history.

This is coordinate descent (Wright, "Coordinate descent algorithms", 2015) with one visit to each
value. Which knobs come first is said by where the incumbent waits, trial by trial: a pipeline is as
fast as its slower side, so what speeds up the other side gains nothing yet. Along a knob with an
order (workers, threads) rates rise and then fall, so values are climbed from the incumbent's, and
those behind one that lost come late. A loader that waits is given as many workers as would end the
waiting if each brought as much as those that are there. What only goes back to the baseline comes
last of all: the ablation asks that of the best settings in any case.

On a device of its own the model feels little of the CPU's threads, and compilation is what may
bring most beyond the expert's settings: it has its turn as soon as no data hold the model back, in
one mode. A device that is idle then, between kernels too small for it, wants CUDA graphs first.

Where the model computes on the CPU, its threads and the loader's workers share the cores: workers
bring little to a run that waits for data as long as OpenMP's threads spin while they wait, and
passive waiting alone only slows the model down. No step along one knob leads from none of both to
both, so there workers are tried with passive waiting first, and alone if that has lost.

An incumbent that changes both sides (the expert's settings, most of all) owes its speed to the one
that binds: the other side's part may gain nothing, or cost something, and one knob at a time it
would be found out late. So once the other side goes back to the baseline as a whole, before all
else: what is left is half of the changes for one trial. Where the baseline was held back by one
side and the incumbent by the other, it owes its speed to both, unless they share cores.

An expert that lost, or failed, may have done so through one side alone. Its knobs one at a time do
not tell: bfloat16 may lose in one layout and win in the other. So the part of it for the side that
binds is tried as a whole, too, once for each side.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from hotlap.settings import Settings

P = TypeVar("P")
"""A point of the space, whose attributes are the knobs' values: Settings, in a study of tune.py."""

LOADER = (
    "num_workers",
    "pin_memory",
    "non_blocking",
    "persistent_workers",
    "prefetch_factor",
    "worker_threads",
)
COMPUTE = (
    "amp",
    "float32_matmul_precision",
    "memory_format",
    "cudnn_benchmark",
    "allocator",
    "omp_wait_policy",
    "optimizer_kernel",
    "intraop_threads",
    "sdpa_backend",
    "compile_mode",
)
"""In the order in which they are tried; compilation last, because one trial of it takes minutes.
Knobs that stand in neither list (how workers start, what is deterministic) seldom pay: they are
left to the sampler."""

ON_DEVICE = (
    "amp",
    "float32_matmul_precision",
    "memory_format",
    "cudnn_benchmark",
    "optimizer_kernel",
    "compile_mode",
    "sdpa_backend",
)
"""The same where the model computes on a device of its own and no data hold it back. What is a
matter of the CPU's cores is left to the sampler, and each value of it would need a server of its
own; among attention kernels PyTorch's own choice is seldom beaten."""

SELDOM = {
    "amp": ("fp16",),
    "float32_matmul_precision": ("medium",),
    "optimizer_kernel": ("for_loop",),
    "sdpa_backend": ("math",),
}
"""Values that seldom win where their knob has another one beside the baseline's."""

IDLE = 0.8
"""A device that is busy for less than this share of the time, 0..1, though no data hold it back,
waits for its kernels to be queued: a model that fills it keeps it busy nearly all of the time."""

GRAPHS = "reduce-overhead"
"""The compilation whose kernels are queued all at once (CUDA graphs)."""

WAITS = 0.1
"""Above this share of waiting the loader's knobs come first."""

NEVER_WAITS = 0.01
"""Below this share they cannot gain more than that, and are left to the sampler."""

ORDERED = 3
"""A knob of so many numbers or more is climbed; of two there is no way between."""


class Around(Protocol[P]):
    """What descent needs of a space (studies/descent_sampler.py makes one of a study's trials)."""

    def neighbours(self, settings: P, /) -> Iterator[tuple[str, Any, P]]:
        """Points that differ in one knob: its name, its value there, the point."""

    def nearest(self, settings: P, /, **changes: Any) -> P:
        """The point that lies nearest to `settings` with these changes."""


@dataclass(frozen=True)
class Sides:
    """Which knobs belong to which side of the pipeline, each in the order in which they are tried.

    Attributes:
        loader: Those that bring the data.
        compute: Those of the model.
        on_device: Those of the model that are tried where it computes on a device of its own and
            no data hold it back.
    """

    loader: tuple[str, ...]
    compute: tuple[str, ...]
    on_device: tuple[str, ...]


TRAINING = Sides(LOADER, COMPUTE, ON_DEVICE)


class Descent(Generic[P]):
    """Proposes one-knob changes of the incumbent.

    All that changes in it is replaced as a whole, so a shallow copy goes its own way from there.

    Args:
        space: The active search space.
        data_wait_share: The baseline's, 0..1.
        waits_of: The same of other settings that were tried; None where it is not known. By
            default the baseline's stands for all.
        shares_cores: Whether the model computes on the cores that the workers have, too.
        baseline: What the side that does not bind goes back to; None for never.
        expert: Settings that are worth one trial for each side, should they lose; None for none.
        own_threads: The number of threads that `intraop_threads=null` stands for; None if nobody
            knows: then all others are taken for fewer.
        busy_of: The share of its time (0..1) that the device computed with settings that were
            tried; None where it is not known, as on a CPU.
        sides: Which knobs bring the data, and which are the model's.

    Attributes:
        order: Names of the knobs, the most likely to pay over the baseline first.
    """

    def __init__(
        self,
        space: Around[P],
        data_wait_share: float,
        waits_of: Callable[[P], float | None] = lambda settings: None,
        shares_cores: bool = False,
        baseline: P | None = None,
        expert: P | None = None,
        own_threads: int | None = None,
        busy_of: Callable[[P], float | None] = lambda settings: None,
        sides: Sides = TRAINING,
    ) -> None:
        self._space = space
        self._sides = sides
        # Its values come last where the expert's are sure to help. On a CPU one may well do harm.
        self._back: object = None if shares_cores else baseline or Settings()
        self._baseline = baseline
        self._expert = expert
        self._parts: frozenset[tuple[str, ...]] = frozenset()  # sides of it that were tried
        self._layout = ""  # the last incumbent's
        self._shares_cores = shares_cores
        self._share = data_wait_share
        self._waits_of = waits_of
        self._own_threads = math.inf if own_threads is None else own_threads
        self._busy_of = busy_of
        self.order: tuple[str, ...] = self._order(data_wait_share)
        self._tried: frozenset[tuple[str, object]] = frozenset()
        self._with_passive: frozenset[object] = frozenset()  # worker counts tried with it

    def propose(self, incumbent: P) -> P | None:
        """The next settings to try beside `incumbent`; None when every value had its turn."""
        waits = self._waits_of(incumbent)
        waits = self._share if waits is None else waits
        if (side := self._binding_side_of(incumbent, waits)) is not None:
            return side
        layout = getattr(incumbent, "memory_format", "")
        if layout != self._layout:  # other kernels: a lower precision may win now
            self._layout = layout
            self._tried = frozenset(pair for pair in self._tried if pair[0] != "amp")
        busy = self._busy_of(incumbent)
        idle = waits < WAITS and busy is not None and busy < IDLE
        order = self._order(waits, idle)
        near = [
            (name, value, settings)
            for name, value, settings in self._space.neighbours(incumbent)
            if name in order and (name, value) not in self._tried
        ]
        likely = {
            (name, value)
            for name in order
            for value in self._likely(name, [v for n, v, _ in near if n == name], incumbent, waits)
        }
        if not near:
            return None
        mode = self._first_mode(idle, [v for n, v, _ in near if n == "compile_mode"])

        def turn(item: tuple[str, object, P]) -> tuple[bool, bool, int]:
            name, value, _ = item
            has_turn = name != "compile_mode" or value == mode
            rank = order.index(name) if has_turn else len(order)
            return self._goes_back(name, value), (name, value) not in likely, rank

        name, value, settings = min(near, key=turn)
        if name == "num_workers" and value and waits >= WAITS and self._shares_cores:
            passive = self._space.nearest(settings, omp_wait_policy="passive")
            if passive != settings and value not in self._with_passive:
                self._with_passive |= {value}
                return passive
        # The trial compares two values of the knob: neither needs another turn.
        self._tried |= {(name, value), (name, getattr(incumbent, name))}
        return settings

    def _binding_side_of(self, incumbent: P, waits: float) -> P | None:
        """The side that binds alone, of an incumbent that changes both, or of such an expert."""
        baseline, expert, sides = self._baseline, self._expert, self._sides
        if baseline is None:
            return None
        changed = self._changed(incumbent, baseline)
        if self._both_sides(changed):
            self._baseline = None  # once: what comes later has come by trials of its own
            bound = self._share >= WAITS
            if bound != (waits >= WAITS) and not self._shares_cores:
                return None
            other = changed.intersection(sides.compute if bound else sides.loader)
            return self._space.nearest(incumbent, **_values(baseline, other))
        side = sides.loader if waits >= WAITS else sides.compute
        if expert is None or side in self._parts:
            return None
        if not self._both_sides(changed := self._changed(expert, baseline)):
            return None
        self._parts |= {side}
        return self._space.nearest(incumbent, **_values(expert, changed.intersection(side)))

    def _changed(self, settings: P, baseline: P) -> set[str]:
        """The names of both sides' knobs in which they differ."""
        names = self._sides.loader + self._sides.compute
        return {name for name in names if getattr(settings, name) != getattr(baseline, name)}

    def _both_sides(self, changed: set[str]) -> bool:
        sides = self._sides
        return not (changed.isdisjoint(sides.loader) or changed.isdisjoint(sides.compute))

    def _order(self, waits: float, idle: bool = False) -> tuple[str, ...]:
        loader, compute = self._sides.loader, self._sides.compute
        if waits >= WAITS:
            return loader + compute
        compute = compute if self._shares_cores else self._sides.on_device
        if idle:
            compute = ("compile_mode", *(name for name in compute if name != "compile_mode"))
        # Fewer workers may do where the incumbent no longer waits, and leave it their cores.
        return compute + loader if max(waits, self._share) >= NEVER_WAITS else compute

    def _first_mode(self, idle: bool, left: Sequence[object]) -> str:
        """The mode of compilation that has its knob's turn; the others come after what is cheap."""
        if any(name == "compile_mode" for name, _ in self._tried):
            return ""
        return GRAPHS if idle and GRAPHS in left else "default"

    def _likely(
        self, name: str, left: list[object], incumbent: P, waits: float
    ) -> Sequence[object]:
        """Those of the untried values that come in the first turn."""
        here, seen = getattr(incumbent, name), [v for n, v in self._tried if n == name]
        values = {*left, *seen, here}
        number = {v: n for v in values if (n := self._number(name, v)) is not None}
        if len(number) < len(values) or len(set(number.values())) < ORDERED:
            seldom = SELDOM.get(name, ())
            better = any(not self._goes_back(name, value) for value in values.difference(seldom))
            return [value for value in left if value not in seldom] if better else left
        now, tried = number[here], [number[value] for value in seen]
        left = sorted(left, key=lambda value: number[value])
        low = max((t for t in tried if t < now), default=-math.inf)
        high = min((t for t in tried if t > now), default=math.inf)
        above = [value for value in left if now < number[value] < high]
        below = [value for value in left if low < number[value] < now]
        if name != "num_workers" or name not in self._sides.loader:
            return [*above[:1], *below[-1:]]
        if waits < WAITS:
            return below[-1:]
        if now == 0 and len([t for t in tried if t > 0]) == 1:
            # One worker alone hands over what the process had made itself, so it may lose where
            # several win: the climb begins at one and not at none.
            return left[len(left) // 2 :][:1]
        aim = max(now, waits) / max(1 - waits, 1e-9)
        return [value for value in above if number[value] >= aim][:1] or above[-1:]

    def _goes_back(self, name: str, value: object) -> bool:
        """Whether a value only undoes what has been changed, and comes last for it."""
        return self._back is not None and value == getattr(self._back, name)

    def _number(self, name: str, value: object) -> float | None:
        """What a value counts as where its knob has an order; None where it has none."""
        if value is None and name == "intraop_threads":
            return self._own_threads
        return value if isinstance(value, int | float) and type(value) is not bool else None


def _values(settings: object, names: Iterable[str]) -> dict[str, Any]:
    return {name: getattr(settings, name) for name in names}
