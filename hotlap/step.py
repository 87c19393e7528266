"""One optimizer update with every setting in force."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer

from hotlap.batches import pieces, to_device
from hotlap.errors import InvalidTrial
from hotlap.precision import autocast, scaler
from hotlap.settings import CUDA_GRAPH_MODES, Settings
from hotlap.workload import count as count_samples

NO_ATTENTION_KERNEL = ("No available kernel", "No viable backend")


class Step:
    """Trains on one batch: `loss = step(batch)`.

    Nothing in it waits for the device, except what torch's GradScaler does with an optimizer that
    is not fused.

    Args:
        model: The module, already on `device`.
        optimizer: Over its parameters.
        loss: `loss(model, batch)`: a scalar, the mean over the batch's samples.
        settings: What to put in force.
        device: Where batches go.
        count: Samples of a batch; None takes the first tensor's first dimension.
        split: As Workload's.
    """

    def __init__(
        self,
        model: nn.Module,
        optimizer: Optimizer,
        loss: Callable[[nn.Module, Any], torch.Tensor],
        settings: Settings,
        device: torch.device | str,
        *,
        count: Callable[[Any], int] | None = None,
        split: Callable[[Any, int], Iterable[Any]] | None = None,
    ) -> None:
        self.model = model
        self.optimizer = optimizer
        self.loss = loss
        self.settings = settings
        self.device = torch.device(device)
        self.scaler = scaler(settings, self.device)
        self._count = count or count_samples
        self._split = split
        self._scales = self.scaler.is_enabled()
        self._graphs = settings.compile_mode in CUDA_GRAPH_MODES and self.device.type == "cuda"
        self._n_steps = 0
        self._n_updates = 0
        self._overflows = torch.zeros((), device=self.device)
        self._needs_closure = _needs_closure(optimizer)
        if self._needs_closure and self._scales:
            raise InvalidTrial(
                f"amp=fp16 needs a GradScaler, and {type(optimizer).__name__} evaluates the loss "
                "itself, which GradScaler does not support; take amp=bf16 or none"
            )
        if self._scales:
            optimizer.register_step_post_hook(self._after_update)
        # A loader gives batches in host memory, where a CPU's model takes them as they are.
        self._moves = self.device.type != "cpu" or settings.memory_format == "channels_last"
        self._simple = not (
            settings.amp != "none"
            or settings.micro_batch_size
            or self._graphs
            or self._needs_closure
        )

    def __call__(self, batch: Any) -> torch.Tensor:
        """Train on `batch` (as the loader gives it); returns the loss, detached, on the device.

        Raises:
            InvalidTrial: The attention kernel or the micro batch does not fit this workload.
        """
        return self.update(batch).detach()

    def update(self, batch: Any) -> torch.Tensor:
        """As a call, but the loss may hold its graph, as a loop written by hand leaves it."""
        if self._moves:
            batch = to_device(batch, self.device, self.settings)
        if self._simple:  # the lines that anybody would write, and hardly one more
            self.optimizer.zero_grad(self.settings.set_to_none)
            try:
                loss = self.loss(self.model, batch)
            except RuntimeError as error:
                self._explain(error)
                raise
            loss.backward()  # type: ignore[no-untyped-call]
            self.optimizer.step()
            return loss
        self._n_steps += 1
        if self._needs_closure:
            value: Any = self.optimizer.step(lambda: self._gradients(batch))  # type: ignore[arg-type, return-value]
            return torch.as_tensor(value, device=self.device).detach()
        total = self._gradients(batch)
        if self._scales:
            self.scaler.step(self.optimizer)
            self.scaler.update()
        else:
            self.optimizer.step()
        return total

    @property
    def n_scaled_steps(self) -> int:
        """Updates that the GradScaler was asked for so far."""
        return self._n_steps if self._scales else 0

    @property
    def n_skipped_steps(self) -> int:
        """Updates that the GradScaler skipped so far; reading it waits for the device."""
        if not self._scales:
            return 0
        return self._n_steps - self._n_updates + int(self._overflows.item())

    def _gradients(self, batch: Any) -> torch.Tensor:
        self.optimizer.zero_grad(set_to_none=self.settings.set_to_none)
        parts = self._parts(batch)
        keeps = self._graphs and (len(parts) > 1 or not self.settings.set_to_none)
        total: torch.Tensor | None = None
        for part, share in parts:
            if self._graphs:
                torch.compiler.cudagraph_mark_step_begin()  # type: ignore[no-untyped-call]
            without = self._without_gradients() if keeps else []
            loss = self._forward(part)
            if share != 1.0:
                loss = loss * share
            self.scaler.scale(loss).backward()  # type: ignore[no-untyped-call]
            for parameter in without:
                # It may be a CUDA graph's output, which the next micro batch overwrites; so does
                # the next step where gradients are zeroed and not let go.
                if parameter.grad is not None:
                    parameter.grad = parameter.grad.clone()
            value = loss.detach().clone() if self._graphs else loss.detach()
            total = value if total is None else total + value
        assert total is not None
        return total

    def _forward(self, batch: Any) -> torch.Tensor:
        try:
            with autocast(self.settings, self.device):
                return self.loss(self.model, batch)
        except RuntimeError as error:
            self._explain(error)
            raise

    def _explain(self, error: RuntimeError) -> None:
        if any(text in str(error) for text in NO_ATTENTION_KERNEL):
            raise InvalidTrial(
                f"sdpa_backend={self.settings.sdpa_backend} cannot run this model's attention "
                f"with amp={self.settings.amp} on {self.device}; take sdpa_backend=default"
            ) from error

    def _parts(self, batch: Any) -> list[tuple[Any, float]]:
        """The micro batches, each with its share of the batch's samples.

        The loss is a mean, so shares as weights make the gradient that of the whole batch.
        """
        n = self.settings.micro_batch_size
        if n is None:
            return [(batch, 1.0)]
        n_samples = self._count(batch)
        if n >= n_samples:
            return [(batch, 1.0)]
        cut = self._split(batch, n) if self._split else pieces(batch, n_samples, n)
        return [(part, self._count(part) / n_samples) for part in cut]

    def _without_gradients(self) -> list[torch.Tensor]:
        # Made beforehand they would be zeros for what is no part of the loss, and move it: momentum
        # and weight decay pass over a parameter without a gradient alone.
        groups = self.optimizer.param_groups
        return [one for group in groups for one in group["params"] if one.grad is None]

    def _after_update(self, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        # GradScaler leaves out the step of most optimizers on overflow, so this is not called;
        # a fused one it calls always, with the overflow as a tensor to look at. Counting both
        # needs no wait for the device.
        self._n_updates += 1
        found = getattr(optimizer, "found_inf", None)
        if found is not None:
            self._overflows += found != 0


def _needs_closure(optimizer: Optimizer) -> bool:
    parameters = inspect.signature(optimizer.step).parameters
    return "closure" in parameters and parameters["closure"].default is inspect.Parameter.empty
