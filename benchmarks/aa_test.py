"""A speedup is found where there is one, and none where there is none; with neighbours and without.

    python -m benchmarks.aa_test
    python -m benchmarks.aa_test --studies 10 --kinds noisy

The confirm stage as it is in a study (fresh processes, interleaved rounds, its own rules when to
end, after 40 rounds at the latest), many times over, on a workload whose work is known by
construction (benchmarks/known_work.py):

- `quiet`: the baseline against settings that do the same. A speedup or a slowdown, which of the
  two does not matter, is said in at most 5 % of the studies.
- `noisy`: the same while busy loops on half of the cores are switched on and off at random.
- `known`: with the same neighbours, settings that are exactly 1.5 times as fast. The interval that
  is printed holds 1.5 in at least 95 % of the studies.

Where exactly 5 % are wrong, more than 2 of 40 are so by chance in every third run. So a kind breaks
the claim only with so many that more than 5 % are proven; its line says how many may hold at least.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

if not __package__:  # started by its path and not by -m: the clone has to be importable
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.known_work import SPEEDUP  # noqa: E402
from benchmarks.machine import (  # noqa: E402
    ROOT,
    conclude,
    count,
    interruptible,
    uptime,
    versions,
)
from benchmarks.neighbour import Neighbour  # noqa: E402
from hotlap.errors import StudyFailed  # noqa: E402
from hotlap.job import Job, Window  # noqa: E402
from hotlap.measurement import Rate  # noqa: E402
from hotlap.settings import Settings  # noqa: E402
from objectives import Throughput  # noqa: E402
from runners.process import ProcessRunner  # noqa: E402
from studies import Lab, Rounds, confirm  # noqa: E402

BASELINE = Settings(intraop_threads=1)
SAME = Settings(intraop_threads=1, cudnn_benchmark_limit=11)
FASTER = Settings(intraop_threads=1, cudnn_benchmark=True)

KINDS = {"quiet": SAME, "noisy": SAME, "known": FASTER}

WINDOW = Window(max_s=0.8, min_s=0.5, block_s=0.08, max_warmup_s=1.0)
"""A study goes on for longer where intervals stay wide; forty of each kind would take hours. What
longer rounds do to the intervals is simulated: tests/studies/test_rounds_coverage.py."""

CLAIM = 0.05

CHANCE = 0.05
"""More wrong answers than `CLAIM` are proven where as many would come by chance in less than this
share of runs: the exact binomial test, one-sided (Clopper and Pearson, Biometrika 26, 1934)."""


@dataclass(frozen=True)
class Answer:
    """What one study said.

    Attributes:
        speedup: With its interval.
        n_rounds: Rounds that it took.
        busy: Share of the CPU that others used meanwhile, 0..1, the mean over the trials.
    """

    speedup: Rate
    n_rounds: int
    busy: float

    def holds(self, truth: float) -> bool:
        """Whether the interval holds the truth; one without ends, of one round, holds nothing."""
        return 0 < self.speedup.low <= truth <= self.speedup.high < math.inf


class Silent:
    """Nobody watches."""

    def __getattr__(self, name: str) -> Any:
        return lambda *args, **more: None


def study(
    runner: ProcessRunner, folder: Path, other: Settings, seed: int, max_rounds: int
) -> Answer:
    """One confirm stage of `other` against the baseline.

    Raises:
        StudyFailed: It has no answer, for no round could be compared.
    """
    job = Job("benchmarks.known_work.known_work", window=WINDOW, import_path=(str(ROOT),))
    lab = Lab(runner, job, folder, Throughput(), Silent())
    rounds = Rounds(lab, "confirm", lambda: 1e6, max_rounds, seed)
    proof = confirm(rounds, {"baseline": BASELINE, "other": other})
    if proof.uncompared:
        raise StudyFailed(proof.uncompared)
    baseline, arm = proof.arms
    shares = [t.run.measurement.other_cpu_share for a in proof.arms for t in a.trials.values()]
    return Answer(arm.speedup(baseline), proof.n_rounds, sum(shares) / len(shares))


def main(argv: Sequence[str] | None = None) -> int:
    """Run it; 0 if of no kind more wrong answers are proven, 1 if they are."""
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--studies", type=count, default=40, help="of each kind (%(default)s)")
    arguments.add_argument("--rounds", type=count, default=40, help="the most (%(default)s)")
    arguments.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    arguments.add_argument("--neighbours", type=count, help="busy loops (half of the cores)")
    arguments.add_argument("--seed", type=int, default=0)
    given = arguments.parse_args(argv)
    n = given.neighbours or max(1, (os.cpu_count() or 2) // 2)
    print(f"{versions()}\n{uptime()}", flush=True)
    broken, failed = [], []
    with ProcessRunner(preload=("torch",), gpu_watch=False) as runner:
        for kind in given.kinds:
            answers = []
            for i in range(given.studies):
                seed = given.seed + i
                with (
                    TemporaryDirectory() as folder,
                    contextlib.nullcontext() if kind == "quiet" else Neighbour(n, seed),
                ):
                    other = KINDS[kind]
                    try:
                        answers.append(study(runner, Path(folder), other, seed, given.rounds))
                    except StudyFailed as error:
                        print(f"{kind}, study {i + 1} has no answer: {error}", flush=True)
                        failed.append(f"{kind}, study {i + 1}")
                if sys.stderr.isatty():
                    print(f"\r{kind}: {i + 1} of {given.studies}", end="", file=sys.stderr)
            if not answers:
                continue
            print(summary(kind, answers), flush=True)
            if wrong(kind, answers) > most(len(answers)):
                broken.append(kind)
    print(uptime())
    claim = f"claim: at most {CLAIM:.0%} of the answers are wrong; proven to be more"
    return conclude(claim, broken, failed)


def wrong(kind: str, answers: Sequence[Answer]) -> int:
    """How many intervals miss the truth; without a difference they say faster, or slower."""
    return sum(not answer.holds(truth(kind)) for answer in answers)


def most(n: int) -> int:
    """How many of `n` answers may be wrong before more than `CLAIM` is proven of all."""
    from scipy.special import bdtrc  # scipy takes a while to import

    return max(m for m in range(n + 1) if bdtrc(m - 1, n, CLAIM) >= CHANCE)


def truth(kind: str) -> float:
    """The speedup that there is."""
    return SPEEDUP if kind == "known" else 1.0


def summary(kind: str, answers: Sequence[Answer]) -> str:
    """One kind in a line or two."""
    n = len(answers)
    values = sorted(answer.speedup.value for answer in answers)
    widths = sorted(answer.speedup.precision for answer in answers)
    held = len(answers) - wrong(kind, answers)
    rounds = sum(answer.n_rounds for answer in answers) / n
    busy = sum(answer.busy for answer in answers) / n
    found = f"said faster {sum(a.speedup.low > 1 for a in answers)} of {n}, "
    found += f"slower {sum(a.speedup.high < 1 for a in answers)}"
    return (
        f"{time.strftime('%H:%M:%S')} {kind}: {found}; the interval holds {truth(kind):g} in "
        f"{held} of {n} (wanted: {n - most(n)} or more); "
        f"speedups {values[0]:.3f} to {values[-1]:.3f}, median {values[n // 2]:.3f}, "
        f"half width {widths[n // 2]:.1%} at the median; "
        f"{rounds:.1f} rounds, others used {busy:.0%}"
    )


if __name__ == "__main__":
    sys.exit(interruptible(main, sys.argv[1:]))
