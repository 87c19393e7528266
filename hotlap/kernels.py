"""Optimizer kernels: for_loop, foreach or fused, in a new optimizer or in one already built.

torch keeps the choice as `foreach` and `fused` in an optimizer's defaults and in each parameter
group. Not every class knows both, and `fused` refuses some parameters (complex ones, some
devices), with some classes only at the first step; so each choice is tried before it is taken.
"""

from __future__ import annotations

import contextlib
import copy
import inspect
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import nn
from torch.nn.parameter import is_lazy
from torch.optim import Optimizer

from hotlap.notes import Note, one_line, tell
from hotlap.same_numbers import same_numbers
from hotlap.settings import Settings

KERNELS: dict[str, dict[str, bool]] = {
    "default": {},
    "for_loop": {"foreach": False, "fused": False},
    "foreach": {"foreach": True, "fused": False},
    "fused": {"foreach": False, "fused": True},
}

SCALES = "_step_supports_amp_scaling"
"""torch's mark on an optimizer whose step reads the scale and the overflow of a GradScaler."""


def kernel_arguments(
    settings: Settings, optimizer_class: type[Optimizer] | None = None
) -> dict[str, bool]:
    """The keywords that choose the kernel: `SGD(parameters, lr=0.1, **kernel_arguments(...))`.

    With a class only keywords that its signature has; empty for optimizer_kernel=default.
    """
    kernel = KERNELS[settings.optimizer_kernel]
    if optimizer_class is None:
        return dict(kernel)
    known = inspect.signature(optimizer_class).parameters
    return {name: value for name, value in kernel.items() if name in known}


def optimizer(
    factory: Callable[..., Optimizer],
    parameters: Iterable[Any],
    settings: Settings,
    *,
    notes: list[Note] | None = None,
    **own: Any,
) -> Optimizer:
    """Build an optimizer with the kernel that `settings` ask for.

    Args:
        factory: An optimizer class, or a function that hands keywords on to one.
        parameters: Parameters or parameter groups, as torch's optimizers take them.
        settings: `optimizer_kernel` is read; `default` passes nothing on.
        notes: Gets a note where the kernel cannot be put in force; None logs it.
        **own: All other arguments of the factory: lr, momentum, ...
    """
    built = _build(factory, _listed(parameters), KERNELS[settings.optimizer_kernel], own)

    def again(loaded: Optimizer) -> None:
        set_kernel(loaded, settings, notes=notes)
        follow_layout(loaded)

    when_loaded(built, again)
    return set_kernel(built, settings, notes=notes)


def set_kernel(
    built: Optimizer, settings: Settings, *, notes: list[Note] | None = None
) -> Optimizer:
    """Put the kernel in force in an optimizer that exists, and return that same object.

    Each group keeps its own lr and the rest; its state, as after `load_state_dict`, is kept too.
    A group whose parameters refuse the kernel gets torch's own choice, and a note says so.
    """
    name = settings.optimizer_kernel
    kernel = {key: value for key, value in KERNELS[name].items() if key in built.defaults}
    if name == "default":
        return built
    wanted = "foreach" if name == "for_loop" else name
    if wanted not in kernel:
        text = f"{type(built).__name__} has no argument {wanted}"
        tell(notes, "optimizer_kernel", f"{text}, so torch's own choice stays")
        return built
    before = [{key: g.get(key) for key in kernel} for g in built.param_groups]
    taken = 0
    for number, group in enumerate(built.param_groups):
        if reason := refusal(built, group, kernel):
            if all(group.get(key) == value for key, value in kernel.items()):
                group.update(dict.fromkeys(kernel))
            text = f"{type(built).__name__}, parameter group {number}: {reason}"
            tell(notes, "optimizer_kernel", text)
        else:
            group.update(kernel)
            taken += 1
    if taken:
        built.defaults.update(kernel)
    elif all(built.defaults[key] == value for key, value in kernel.items()):
        built.defaults.update(dict.fromkeys(kernel))
    after = [{key: g.get(key) for key in kernel} for g in built.param_groups]
    _settle(built, moved=before != after)
    return built


def when_loaded(built: Optimizer, then: Callable[[Optimizer], Any]) -> None:
    """Call `then` after each `load_state_dict`: a checkpoint brings kernel and layout along.

    What wraps an optimizer and calls no constructor of torch's has no hooks; the other one loads.
    """
    if hasattr(built, "_optimizer_load_state_dict_post_hooks"):
        built.register_load_state_dict_post_hook(then)


def leave_to_torch(built: Optimizer) -> None:
    """Let torch choose the kernel, whatever this optimizer was built with."""
    kernel: dict[str, Any] = {k: None for k in ("foreach", "fused") if k in built.defaults}
    moved = any(group.get(key) is not None for group in built.param_groups for key in kernel)
    for place in (built.defaults, *built.param_groups):
        place.update(kernel)
    _settle(built, moved)


def follow_layout(built: Optimizer) -> None:
    """Lay state that has its parameter's shape out as that parameter is.

    A checkpoint brings the layout in which it was written. The fused kernels of a CPU go through
    memory as it lies, so that each element would meet another one's average; those of CUDA refuse.
    """
    for parameter, state in built.state.items():
        for name, value in state.items() if isinstance(state, dict) else ():
            if _is_like(value, parameter) and value.stride() != parameter.stride():
                laid_out = torch.empty_like(parameter, dtype=value.dtype, device=value.device)
                state[name] = laid_out.copy_(value)


def accepted(built: Optimizer) -> list[str]:
    """The kernels that every group of this optimizer takes on this device."""
    found = []
    for name, kernel in KERNELS.items():
        known = {key: value for key, value in kernel.items() if key in built.defaults}
        needed = "foreach" if name == "for_loop" else name
        if needed in known and not any(refusal(built, g, known) for g in built.param_groups):
            found.append(name)
    return found


def refusal(built: Optimizer, group: dict[str, Any], kernel: dict[str, bool]) -> str:
    """Why this group cannot have this kernel, or "".

    Found out by one step of a twin: an optimizer of the same class and arguments over tiny
    parameters, one for each device, dtype and rank in the group.
    """
    if any(is_lazy(parameter) for parameter in group["params"]):
        return "a lazy parameter has no shape yet; run one batch through the model first"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        error = _twin_error(built, group, kernel)
        if error and _twin_error(built, group, {}):
            return ""  # the twin fails whatever the kernel: it can tell nothing
    return error


def _twin_error(built: Optimizer, group: dict[str, Any], kernel: dict[str, bool]) -> str:
    try:
        _twin(built, group, kernel)
    except Exception as error:  # whatever the step of a user's own class raises on a stranger
        return one_line(error)
    return ""


def _twin(built: Optimizer, group: dict[str, Any], kernel: dict[str, bool]) -> Optimizer | None:
    """The twin, after its step; None where the group has nothing that is trained."""
    known = inspect.signature(type(built)).parameters
    given = {**built.defaults, **group, **kernel}
    values: dict[str, Any] = {**given, "foreach": None, "fused": None, **kernel}
    hyper = {key: value for key, value in values.items() if key in known and key != "params"}
    kinds = {(p.device, p.dtype, p.dim()) for p in group["params"]}
    twins = [
        nn.Parameter(torch.zeros((2,) * rank, device=device, dtype=dtype))
        for device, dtype, rank in kinds
        if dtype.is_floating_point or dtype.is_complex
    ]
    if not twins:
        return None
    for twin in twins:
        twin.grad = torch.zeros_like(twin)
    devices = {device for device, _, _ in kinds if device.type == "cuda"}
    with same_numbers(devices):  # a step may draw some
        one = type(built)(twins, **hyper)
        # A class's own step may read what only its groups say; a copy, which it may write to.
        more = {key: values[key] for key in given if key not in known and key != "params"}
        one.param_groups[0].update(copy.deepcopy(more))
        step: Any = type(one).step  # what torch puts round it calls hooks that are the script's
        (step.__wrapped__ if getattr(step, "hooked", False) else step)(one)
    return one


def _build(
    factory: Callable[..., Optimizer],
    groups: list[Any],
    kernel: dict[str, bool],
    own: dict[str, Any],
) -> Optimizer:
    only_true = {name: True for name, value in kernel.items() if value}
    for keywords in (kernel, only_true):
        if keywords:
            try:
                return factory(groups, **{**own, **keywords})
            except Exception:  # keywords it does not know, or refuses in words of its own
                continue
    # Without keywords an error is the factory's own, and the user's to see.
    return factory(groups, **own)


def _settle(built: Optimizer, moved: bool) -> None:
    """Make what torch derives from `fused` in the constructor fit the groups."""
    fused = bool(built.param_groups) and all(g.get("fused") for g in built.param_groups)
    # GradScaler hands scale and overflow to a fused step that reads them, and only to that: a
    # group with another kernel, or what only wraps an optimizer, would step on scaled gradients.
    if getattr(built, SCALES, False) or (fused and _scales(built)):
        setattr(built, SCALES, fused)
    if built.state and moved:
        # Loading puts `step` where the kernel wants it: on the device for fused.
        built.load_state_dict(built.state_dict())
    if "fused" in built.defaults:
        _count_on_the_host(built)


def _scales(built: Optimizer) -> bool:
    """Whether its class, made with the fused kernel, says that its step reads a GradScaler's scale.

    Where that cannot be seen the scaler divides the gradients, which is right for any step.
    """
    with warnings.catch_warnings(), contextlib.suppress(Exception):
        warnings.simplefilter("ignore")
        twin = _twin(built, built.param_groups[0], KERNELS["fused"])
        return bool(getattr(twin, SCALES, False))
    return False


def _count_on_the_host(built: Optimizer) -> None:
    """Bring the count of steps to host memory where no kernel of the device reads it.

    A checkpoint of a fused optimizer has it on the device, and loading leaves it there: the other
    kernels would wait for the device once for each parameter at each step.
    """
    for group in built.param_groups:
        for parameter in () if group.get("fused") or group.get("capturable") else group["params"]:
            state = built.state.get(parameter)
            if isinstance(state, dict) and isinstance(count := state.get("step"), torch.Tensor):
                state["step"] = count.cpu()


def _is_like(value: Any, parameter: Any) -> bool:
    if not isinstance(value, torch.Tensor) or not isinstance(parameter, torch.Tensor):
        return False
    return value.shape == parameter.shape and value.layout == parameter.layout == torch.strided


def _listed(parameters: Iterable[Any]) -> list[Any]:
    # Lists in place of generators: the factory may be called a second time.
    return [
        {**item, "params": _as_list(item["params"])} if isinstance(item, dict) else item
        for item in parameters
    ]


def _as_list(params: Any) -> list[Any]:
    return [params] if isinstance(params, torch.Tensor) else list(params)
