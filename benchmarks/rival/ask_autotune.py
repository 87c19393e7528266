"""pytorch-autotune, as its README calls it. Runs in its environment, with nothing of hotlap's.

    python -m benchmarks.rival.ask_autotune convnet 180

It is given what its README asks for: the model, a batch of the shapes that are trained, the loss,
the optimizer by its name, and a budget in seconds. Its search on the CPU needs `device` named. Its
cache is off, so that each answer is measured. The last line is its report as JSON, as
`report.to_json()` gives it, with the search's own speedup.
"""

import importlib
import json
import sys

from pytorch_autotune import autotune
from torch.utils.data import DataLoader


def main(name, budget_s):
    """Tune the loop `name`; the report with the winner's speedup in it."""
    loop = importlib.import_module(f"benchmarks.rival.loops.{name}")
    batch = next(iter(DataLoader(loop.make_dataset(), batch_size=loop.BATCH_SIZE, shuffle=True)))
    result = autotune(
        loop.make_model(),
        tuple(batch),
        loss_fn=loop.loss_of,
        optimizer="adamw",
        lr=1e-3,
        budget=budget_s,
        device=loop.DEVICE,
        cache=False,
    )
    return {**json.loads(result.report.to_json()), "speedup": result.report.winner.speedup}


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], int(float(sys.argv[2])))))
