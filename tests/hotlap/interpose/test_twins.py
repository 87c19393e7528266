"""Copies of a root that is trained: calls without gradients are heard, all else is plain."""

import copy
import pickle

import pytest
import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel

from hotlap.interpose.root_call import RootCall
from hotlap.interpose.twins import Twins
from tests.hotlap.interpose.nets import optimizer_of, train

X = torch.ones(2, 3)


class Heard:
    """A Listener that writes down which modules are called."""

    def __init__(self):
        self.calls = []

    def forward(self, module, trains):
        self.calls.append((module, trains))

    def __getattr__(self, name):
        return lambda *_: None


@pytest.fixture
def listener(interpose):
    heard = Heard()
    interpose().listen(heard)
    return heard


def trained(model, n_steps=2):
    train(optimizer_of(model), lambda: model(X).sum(), n_steps)
    return model


def looked_at(*modules):
    with torch.no_grad():
        for module in modules:
            module(X)
    return modules


def test_an_average_that_is_made_before_the_first_step(listener):
    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1))
    average, other = copy.deepcopy(model), nn.Sequential(nn.Linear(3, 2))
    trained(model)
    listener.calls.clear()
    looked_at(average, other)
    average(X)
    assert listener.calls == [(average, False)]


def test_one_that_is_made_later_and_wrapped(listener):
    model = trained(nn.Linear(3, 1))
    average = AveragedModel(model)
    average.update_parameters(model)
    listener.calls.clear()
    looked_at(average)
    assert listener.calls == [(average.module, False)]


def test_a_copy_can_be_pickled_and_its_parameters_are_its_own(listener):
    model = trained(nn.Linear(3, 1))
    twin = pickle.loads(pickle.dumps(copy.deepcopy(model)))
    assert twin.weight is not model.weight
    assert torch.equal(twin(X), model(X))


def test_a_copy_that_is_trained_is_a_root(interpose):
    interposition = interpose(compile_mode="default")
    interposition.listen(Heard())
    first = trained(nn.Linear(3, 1), 1)
    second = copy.deepcopy(first)
    optimizer = torch.optim.SGD(second.parameters(), lr=0.1)
    second.eval()(X).sum().backward()
    optimizer.step()
    call = second.__dict__["_compiled_call_impl"]
    assert isinstance(call, RootCall) and call.inner is None
    assert [root.refused for root in interposition.seen.roots] == [{}, {}]


def test_copies_are_heard_no_more_when_the_interposition_is_taken_away(interpose):
    interposition, listener = interpose(), Heard()
    interposition.listen(listener)
    model = nn.Linear(3, 1)
    early = copy.deepcopy(model)
    trained(model)
    late = copy.deepcopy(model)
    compiled = copy.deepcopy(model)
    compiled.__dict__["_compiled_call_impl"].inner = own = lambda x: x
    interposition.remove()
    listener.calls.clear()
    looked_at(early, late, model)
    assert listener.calls == []
    assert all("_compiled_call_impl" not in one.__dict__ for one in (early, late, model))
    assert compiled.__dict__["_compiled_call_impl"] is own


def test_twins_are_looked_for_once_for_the_same_roots(listener, monkeypatch):
    made = []
    plain = Twins.__init__

    def counted(self, *args):
        made.append(self)
        plain(self, *args)

    monkeypatch.setattr(Twins, "__init__", counted)
    model = trained(nn.Linear(3, 1))
    for _ in range(3):
        trained(model)
    assert len(made) == 1
    trained(nn.Linear(3, 2))
    assert len(made) == 2


def test_nobody_hears_copies_where_nobody_listens(interpose):
    interpose()
    model = trained(nn.Linear(3, 1))
    assert "_compiled_call_impl" not in copy.deepcopy(model).__dict__


def test_what_hotlap_looks_for_within_a_step_is_timed(interpose):
    class Listens:
        def __getattr__(self, name):
            return lambda *args: None

    interposition = interpose()
    interposition.listen(Listens())
    model = torch.nn.Linear(2, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    assert interposition.looked_s == 0.0
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    assert interposition.looked_s > 0.0
