"""Tensors are found and changed in containers of any kind, and nothing else is touched."""

import dataclasses
from collections import OrderedDict, namedtuple
from types import MappingProxyType, SimpleNamespace

import torch

from hotlap.interpose.nested import mapped, tensors

Pair = namedtuple("Pair", "left right")


@dataclasses.dataclass(frozen=True)
class Frozen:
    logits: torch.Tensor
    word: str = "w"
    derived: int = dataclasses.field(init=False, default=3)


@dataclasses.dataclass
class Output(OrderedDict):
    """A mapping and a dataclass at once, as libraries' model outputs are."""

    loss: torch.Tensor | None = None
    logits: torch.Tensor | None = None

    def __post_init__(self):
        for field in dataclasses.fields(self):
            super().__setitem__(field.name, getattr(self, field.name))

    def __setitem__(self, name, value):
        super().__setitem__(name, value)
        object.__setattr__(self, name, value)

    def __reduce__(self):
        return type(self), (self.loss, self.logits)


def up(tensor):
    return tensor.float() if tensor.dtype == torch.bfloat16 else tensor


HALF = torch.ones(2, dtype=torch.bfloat16)
FULL = torch.ones(2)


def test_each_tensor_is_changed_in_a_container_of_the_same_kind():
    value = [HALF, (HALF, {"a": HALF}), Pair(HALF, FULL), Frozen(HALF), Output(HALF, FULL)]
    new = mapped(value, up)
    assert all(tensor.dtype == torch.float32 for tensor in tensors(new))
    assert [type(item) for item in new] == [type(item) for item in value]
    assert new[2].right is FULL and new[3].word == "w" and new[3].derived == 3
    assert new[4].loss is new[4]["loss"] and new[4].loss.dtype == torch.float32
    assert new[4].logits is FULL


def test_the_script_s_own_containers_are_never_altered():
    inner = {"a": HALF}
    out = Output(HALF, FULL)
    mapped([inner, out], up)
    assert inner["a"] is HALF and out["loss"] is HALF and out.loss is HALF


def test_where_nothing_changes_the_very_object_comes_back():
    value = {"x": [FULL, (FULL,)], "y": Frozen(FULL), "n": None}
    assert mapped(value, up) is value


def test_objects_that_are_no_containers_come_back_as_they_are():
    for value in (SimpleNamespace(x=HALF), MappingProxyType({"x": HALF}), Frozen, "text", 3):
        assert mapped(value, up) is value


def test_tensors_are_listed_in_order_from_any_depth():
    found = tensors([FULL, {"a": (HALF,)}, Frozen(FULL), 3])
    assert [id(tensor) for tensor in found] == [id(FULL), id(HALF), id(FULL)]
