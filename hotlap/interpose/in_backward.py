"""Whether autograd is at work in this thread: what runs meanwhile is no training step's own line.

Activation checkpointing runs a part of the model once more there, and in its reentrant form a
backward pass of its own; hooks and functions with a backward of their own may do anything.
"""

from __future__ import annotations

import torch


def in_backward() -> bool:
    """Whether the engine runs in this thread: the script's own, or for a GPU one of autograd's.

    By the mark that torch's own trackers of modules go by. What the engine calls has it in each of
    its threads, so no count is kept that would have to follow them.
    """
    return torch._C._current_graph_task_id() != -1
