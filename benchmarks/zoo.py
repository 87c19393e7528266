"""A study of each workload of the zoo, with the tables of its ablation and its proof.

    python -m benchmarks.zoo
    python -m benchmarks.zoo --models gpt_small digits_mlp --budget 5m --folder zoo

There is no claim: this shows what tune.py finds in its default budget on the machine it stands on.
Shown is the report that tune.py prints in its end, without what to type next.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

if not __package__:  # started by its path and not by -m: the clone has to be importable
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.commands import kept_or_not, script  # noqa: E402
from benchmarks.machine import Unmeasured, conclude, interruptible, uptime, versions  # noqa: E402

MODELS = ("digits_mlp", "gpt_small", "resnet18", "resnet50", "vit_b_16", "detector")

LAST = "\nfull run:"
"""From here on the report says what to type, and where."""


def main(argv: list[str]) -> int:
    """Run all studies and print their tables; 0, or 3 if one has none."""
    args = arguments(argv)
    print(f"{versions()}\n{uptime()}", flush=True)
    failed = []
    with kept_or_not(args.folder) as folder:
        for model in args.models:
            began_s = time.monotonic()
            words = [f"+model={model}", f"budget={args.budget}", "bank=none", *args.more]
            try:
                said = report(script("tune.py", folder, words), model)
            except Unmeasured as error:
                print(f"{error}\n{model} is left out", flush=True)
                failed.append(model)
                continue
            print(f"\n{said}")
            minutes = (time.monotonic() - began_s) / 60
            print(f"{model}: {minutes:.1f} minutes; {uptime()}", flush=True)
    return conclude("claim: none; studies that failed", [], failed)


def arguments(argv: list[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.zoo", description=(__doc__ or "").partition("\n\n")[0]
    )
    parser.add_argument("--models", nargs="+", default=list(MODELS), help="the workloads")
    parser.add_argument("--budget", default="10m", help="of each study")
    parser.add_argument("--folder", type=Path, help="keep the studies here; none: nowhere")
    parser.add_argument("more", nargs="*", help="further words for tune.py, after --")
    return parser.parse_args(argv)


def report(said: str, model: str) -> str:
    """The end of what tune.py has `said`: from the line with the model's name to the advice.

    Raises:
        Unmeasured: There is none.
    """
    lines: Sequence[str] = [line.rstrip() for line in said.splitlines()]
    at = [i for i, line in enumerate(lines) if line.strip() == model]
    if not at:
        raise Unmeasured(f"{said}\ntune.py printed no report")
    return "\n".join(lines[at[-1] :]).partition(LAST)[0].rstrip()


if __name__ == "__main__":
    sys.exit(interruptible(main, sys.argv[1:]))
