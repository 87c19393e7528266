"""The outermost module that is trained is found, and nothing else; it stays what it was."""

import copy
import gc
import io
import pickle
import threading
import weakref

import torch
from torch import nn

from hotlap.interpose.roots import MAX_IN_VAIN, MAX_WATCHED_STEPS
from tests.hotlap.interpose import nets
from tests.hotlap.interpose.nets import IMAGES, Net, inputs_of, optimizer_of, train_net

PLAIN_CALL = nn.Module.__call__


def test_the_root_is_the_outermost_module_that_holds_trained_parameters(interpose):
    seen = interpose(observe=True).seen
    frozen, model, loss = nn.Linear(3, 3), nn.Sequential(nn.Sequential(Net())), nn.MSELoss()
    optimizer = optimizer_of(model)
    with torch.no_grad():
        model(IMAGES)  # an evaluation before the first step
    frozen(torch.ones(3))
    loss(frozen(torch.ones(3)), torch.ones(3))
    train_net(model, optimizer)
    assert [(root.name, root.n_forwards, root.input_ranks) for root in seen.roots] == [
        ("Sequential", 1, [4])
    ]
    assert seen.roots[0].has_images and seen.roots[0].dtypes == ["float32"]


def test_two_optimizers_have_two_roots(interpose):
    seen = interpose(observe=True).seen
    maker, judge = nn.Linear(2, 192), Net()
    optimizers = optimizer_of(maker), optimizer_of(judge)
    for _ in range(3):
        for optimizer in optimizers:
            judge(maker(torch.ones(2, 2)).view(2, 3, 8, 8))["p"].sum().backward()
            optimizer.step()
    assert [(root.name, root.n_forwards) for root in seen.roots] == [("Linear", 6), ("Net", 6)]


def test_when_all_roots_are_found_torch_s_own_call_is_back(interpose):
    interpose(observe=True)
    assert nn.Module.__call__ is PLAIN_CALL  # nothing to look for yet
    model = Net()
    optimizer = optimizer_of(model)
    assert nn.Module.__call__ is not PLAIN_CALL
    inner = []
    model.conv.register_forward_hook(lambda *_: inner.append(nn.Module.__call__))
    train_net(model, optimizer)
    assert inner == [PLAIN_CALL]  # submodules, and a compiler that traces them, see nothing
    assert nn.Module.__call__ is PLAIN_CALL


def test_nothing_is_watched_where_no_setting_of_the_model_s_is_imposed(interpose):
    seen = interpose(optimizer_kernel="foreach").seen
    model = Net()
    optimizer = optimizer_of(model)
    assert nn.Module.__call__ is PLAIN_CALL
    train_net(model, optimizer)
    assert model._compiled_call_impl is None and seen.roots == [] and seen.n_steps == 1


def test_the_model_stays_what_it_was(interpose):
    plain = Net()
    train_net(plain, optimizer_of(plain))
    interpose(memory_format="channels_last", amp="bf16")
    model = Net()
    train_net(model, optimizer_of(model))
    assert type(model) is Net and isinstance(model, Net)
    assert list(model.state_dict()) == list(plain.state_dict())
    assert vars(model).keys() - vars(plain).keys() == {"_compiled_call_impl"}
    assert len(model._forward_hooks) == len(model._forward_pre_hooks) == 0
    buffer = io.BytesIO()
    torch.save(model, buffer)
    assert b"root_call" not in buffer.getvalue() + pickle.dumps(model)
    twin = copy.deepcopy(model)
    assert twin._compiled_call_impl is None and model._compiled_call_impl is not None


def test_a_model_that_the_script_lets_go_of_is_freed_at_once(interpose):
    interpose(amp="bf16")
    model = Net()
    optimizer = optimizer_of(model)
    train_net(model, optimizer)
    gone = weakref.ref(model)
    gc.disable()
    try:
        del model, optimizer
        assert gone() is None
    finally:
        gc.enable()


def test_taken_away_it_leaves_a_model_as_the_script_made_it(interpose):
    interposition = interpose(amp="bf16")
    model, compiled = Net(), Net()
    compiled.compile(backend="eager")
    own = compiled._compiled_call_impl
    for each in (model, compiled):
        train_net(each, optimizer_of(each))
    interposition.remove()
    assert model._compiled_call_impl is None and compiled._compiled_call_impl is own


def test_a_script_that_trains_in_a_thread_of_its_own_is_reached(interpose):
    seen = interpose(amp="bf16").seen
    model = Net()
    calls = inputs_of(model.out)
    thread = threading.Thread(target=lambda: train_net(model, optimizer_of(model)))
    thread.start()
    thread.join()
    assert calls[0][1].dtype == torch.bfloat16 and len(seen.roots) == 1


def test_a_model_called_in_another_thread_is_heard(interpose):
    seen = interpose(amp="bf16").seen
    model = Net()
    optimizer = optimizer_of(model)
    thread = threading.Thread(target=lambda: train_net(model, optimizer))
    thread.start()
    thread.join()
    assert seen.roots == [] and nets.__file__ in seen.own["thread"]


def test_a_model_and_an_optimizer_for_each_step_are_told_once(interpose):
    seen = interpose(amp="bf16").seen
    model = Net()
    for _ in range(30):
        fast = copy.deepcopy(model)
        calls = inputs_of(fast.out)
        train_net(fast, optimizer_of(fast))
        assert calls[0][1].dtype == torch.bfloat16
    assert [(root.name, root.n_forwards) for root in seen.roots] == [("Net", 30)]
    assert [(one.name, one.n_steps) for one in seen.optimizers] == [("SGD", 30)]
    assert nets.__file__ in seen.roots[0].where and nets.__file__ in seen.optimizers[0].where
    assert seen.n_optimizers_made == 30


def test_optimizers_of_what_no_module_holds_are_not_watched_for_ever(interpose):
    interpose(observe=True)
    for _ in range(MAX_IN_VAIN + MAX_WATCHED_STEPS):
        image = nn.Parameter(torch.ones(3))
        optimizer = torch.optim.SGD([image], lr=0.1)
        image.square().sum().backward()
        optimizer.step()
    assert nn.Module.__call__ is PLAIN_CALL
