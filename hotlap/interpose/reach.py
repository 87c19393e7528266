"""Which settings reach a script: for each one "" or the reason why it does not. Pure functions.

"Default" means as the script does it. Loader arguments, threads, layout and flags may be
overruled; what a script asks for about determinism, precision and compilation stays as it is,
unless `override` names the setting.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from hotlap.interpose.imposed import Imposed
from hotlap.interpose.seen import OptimizerSeen, RootSeen, Seen
from hotlap.notes import Note
from hotlap.settings import AGAINST_DETERMINISM, LOADER_SETTINGS, NAMES

MODEL = ("memory_format", "amp", "compile_mode", "sdpa_backend")

FREELY_OVERRULED = ("amp", "compile_mode")
"""Settings that `override` may name without harm: what they change, the losses show."""

NOT_OURS = {
    "non_blocking": "the script copies its batches to the device itself",
    "set_to_none": "the script calls zero_grad itself",
    "micro_batch_size": "the script decides itself what one backward pass covers",
    "amp=fp16": "needs gradients scaled by a GradScaler between the script's own backward pass and "
    "its own optimizer step, and there is no safe place for it",
}
"""Settings about lines that are the script's own; and one value, of which it is said what it needs
there."""


def reach(seen: Seen, override: Collection[str] = ()) -> dict[str, str]:
    """Setting -> "" if it reaches the script, else one sentence that says why it does not.

    Args:
        seen: From a run over at least a few optimizer steps.
        override: Settings that win over what the script asks for.
    """
    return {name: _reason(name, seen, override) for name in NAMES}


def out_of_reach(seen: Seen, override: Collection[str] = ()) -> dict[str, str]:
    """The same for a study, what does not reach it alone; with what to type if it may still.

    That is said of precision and compilation only: over a wish for determinism, or a stream that
    workers would repeat, `override` may change what is trained.
    """
    found = {}
    for name, why in {**reach(seen, override), **NOT_OURS}.items():
        if not why:
            continue
        wider = [*override, name]
        if name in FREELY_OVERRULED and not _reason(name, seen, wider):
            why += f"; override=[{','.join(wider)}] searches it all the same"
        found[name] = why
    return found


def unreached(imposed: Imposed, seen: Seen | None) -> list[Note]:
    """The imposed settings that found nothing in the script to be put in force on."""
    if seen is None:
        return [_note(name, "the script never imported torch") for name in sorted(imposed.names)]
    reasons = reach(seen, imposed.override)
    if "function" not in seen.own:
        for name in MODEL if seen.roots else ():
            reasons[name] = _refused(name, seen.roots)  # whatever else the script may do
        if not reasons["amp"] and "amp" not in imposed.override and _has_autocast(seen.roots):
            reasons["amp"] = "each forward pass is in an autocast of the script's own"
    return [_note(name, reasons[name]) for name in NAMES if name in imposed and reasons[name]]


def apart(seen: Seen) -> str:
    """Why what all ranks have to share is not put in force in this one, or ""."""
    if seen.n_ranks == 1:
        return ""
    return (
        f"the script trains in {seen.n_ranks} processes, and hotlap stands in this one alone; "
        "start all of them by it (torchrun -m hotlap run ...), and with "
        f"WORLD_SIZE={seen.n_ranks} in their environment where nobody sets it"
    )


def _refused(name: str, roots: Sequence[RootSeen]) -> str:
    refused = [root.refused[name] for root in roots if name in root.refused]
    if not refused:
        return ""
    return refused[0] + ("; elsewhere it is in force" if len(refused) < len(roots) else "")


def _has_autocast(roots: Sequence[RootSeen]) -> bool:
    """Whether all training forward passes were in an autocast of the script's own."""
    return bool(roots) and all(0 < root.n_forwards == root.n_own_autocast for root in roots)


def _reason(name: str, seen: Seen, override: Collection[str]) -> str:
    if name in NOT_OURS:
        return NOT_OURS[name]
    if name in LOADER_SETTINGS:
        return _loader(name, seen, override)
    if name in MODEL:
        return _model(name, seen, override)
    if name == "optimizer_kernel":
        return _kernel(seen)
    if name in AGAINST_DETERMINISM and name not in override and "deterministic" in seen.own:
        return f"the script asks for determinism ({seen.own['deterministic']})"
    return ""


def _loader(name: str, seen: Seen, override: Collection[str]) -> str:
    if not seen.loaders:
        return "no DataLoader seen: the script makes its batches itself"
    # Before the first step it is not known which of them trains.
    loaders = seen.training_loaders or seen.loaders
    if all(one.by_itself for one in loaders):
        return (
            f"its {loaders[0].name} came about without DataLoader.__init__ (it builds itself, or "
            "is a copy), so its arguments are not reached"
        )
    if name == "num_workers" and name not in override and all(one.iterable for one in loaders):
        return (
            f"the dataset {loaders[0].dataset} is a stream (IterableDataset), which each worker "
            "may give again as a whole"
        )
    if name == "in_order" and not any(one.shuffles for one in loaders):
        return "its loaders go in no random order of torch's, and the order that they have stays"
    return ""


def _model(name: str, seen: Seen, override: Collection[str]) -> str:
    if not seen.n_optimizers_made:
        return "no torch.optim optimizer seen, so it is not known which module is trained"
    if why_not := apart(seen):
        return why_not
    if place := seen.own.get("function"):
        return f"the model is called within a function that the script compiles itself ({place})"
    if not seen.roots:
        if place := seen.own.get("thread"):
            return f"the model is called in another thread than its optimizer was made in ({place})"
        return "no module that holds the optimizer's parameters is called as a whole"
    if name == "memory_format":
        if not any(root.has_images for root in seen.roots):
            names = ", ".join(sorted({root.name for root in seen.roots}))
            return f"{names} has no 4-D parameter that could be channels_last"
        return ""
    if name == "compile_mode" and name not in override and "compile" in seen.own:
        return f"the script compiles by itself ({seen.own['compile']})"
    return _amp(seen, override) if name == "amp" else ""


def _amp(seen: Seen, override: Collection[str]) -> str:
    for kind, word in (("autocast", "an autocast"), ("scaler", "a GradScaler")):
        if kind in seen.own and "amp" not in override:
            return f"the script has {word} of its own ({seen.own[kind]})"
    dtypes = sorted({dtype for root in seen.roots for dtype in root.dtypes})
    return "" if dtypes == ["float32"] else f"the model has parameters in {', '.join(dtypes)}"


def _kernel(seen: Seen) -> str:
    if not seen.optimizers:
        made = seen.n_optimizers_made
        return "no optimizer stepped" if made else "no torch.optim optimizer seen"
    if why_not := apart(seen):
        return why_not
    if any(_may_choose(optimizer) for optimizer in seen.optimizers):
        return ""
    names = ", ".join(sorted({optimizer.name for optimizer in seen.optimizers}))
    return f"{names} has no other kernel here"


def _may_choose(optimizer: OptimizerSeen) -> bool:
    return optimizer.kernels is None or len(optimizer.kernels) > 1


def _note(name: str, reason: str) -> Note:
    return {"setting": name, "reason": reason}
