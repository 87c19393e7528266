"""Loader settings reach every DataLoader; what clashes is changed together, the rest is kept."""

import copy
import gc
import inspect
import json
import pickle
import weakref

import numpy as np
import pytest
import torch
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    IterableDataset,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    TensorDataset,
    WeightedRandomSampler,
)

from hotlap.interpose.reach import reach
from tests.hotlap.interpose.ears import Ears

ROWS = TensorDataset(torch.arange(24))


class Stream(IterableDataset):
    def __iter__(self):
        return iter(range(8))


class Eager(DataLoader):
    """Begins in its constructor, as some libraries' loaders do."""

    def __init__(self, rows, **more):
        super().__init__(rows, 4, **more)
        self.first = next(iter(self))


def steps(model, loader):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for (x,) in loader:
        model(x.float()[:, None]).sum().backward()
        optimizer.step()


@pytest.mark.parametrize("num_workers", [0, 1])
@pytest.mark.parametrize(
    "own",
    [
        {},
        {"num_workers": 2, "persistent_workers": True, "prefetch_factor": 4, "timeout": 60},
        {"num_workers": 1, "multiprocessing_context": "fork"},
        {"batch_sampler": BatchSampler(RandomSampler(ROWS), 3, False)},
        {"sampler": SequentialSampler(ROWS), "drop_last": True},
        {"batch_size": None},
    ],
)
def test_no_argument_of_a_script_clashes_with_an_imposed_one(interpose, num_workers, own):
    interpose(num_workers=num_workers)
    loader = DataLoader(ROWS, **own)
    assert loader.num_workers == num_workers
    assert len(list(loader)) == len(loader)
    for name in ("sampler", "batch_sampler"):
        assert name not in own or getattr(loader, name) is own[name]
    if num_workers and own.get("prefetch_factor"):  # what is not imposed stays the script's
        assert loader.prefetch_factor == 4 and loader.persistent_workers and loader.timeout == 60


def test_positional_arguments_and_subclasses_that_begin_at_once_are_reached(interpose):
    seen = interpose(num_workers=1).seen
    loader = Eager(ROWS, shuffle=True)
    assert loader.num_workers == 1 and len(loader.first[0]) == 4
    assert DataLoader(ROWS, 6, True).num_workers == 1
    assert [one.name for one in seen.loaders] == ["Eager", "DataLoader"]
    assert seen.loaders[0].imposed == {"num_workers": 1}
    assert all(__file__ in one.where for one in seen.loaders)


def test_a_setting_that_the_script_has_already_changes_nothing(interpose):
    seen = interpose(num_workers=2, prefetch_factor=2).seen
    DataLoader(ROWS, num_workers=2)
    assert seen.loaders[0].imposed == {}


def test_a_stream_keeps_its_number_of_workers_and_it_is_told(interpose):
    interposition = interpose(num_workers=2)
    assert DataLoader(Stream()).num_workers == 0
    assert "stream" in interposition.notes[0]["reason"]


def test_a_stream_is_overruled_where_override_says_so(interpose):
    interpose(override=["num_workers"], num_workers=2)
    assert DataLoader(Stream()).num_workers == 2


class Recorded(BatchSampler):
    """Keeps what it gave, as Lightning's does for its predictions."""

    def __iter__(self):
        self.gave = []
        for batch in super().__iter__():
            self.gave.append(batch)
            yield batch


class Subset(Sampler):
    """In the order of its indices, as torchvision's and others' of this kind."""

    def __iter__(self):
        return iter(range(0, 24, 2))

    def __len__(self):
        return 12


class OtherRandom(RandomSampler):
    """As accelerate's, with a seed of its own."""


@pytest.mark.skipif(
    "in_order" not in inspect.signature(DataLoader.__init__).parameters, reason="torch is too old"
)
@pytest.mark.parametrize(
    ("own", "keeps"),
    [
        ({}, True),
        ({"shuffle": False, "sampler": SequentialSampler(ROWS)}, True),
        ({"sampler": Subset()}, True),
        ({"sampler": [5, 3, 1]}, True),
        ({"batch_size": None}, True),
        ({"batch_sampler": BatchSampler(SequentialSampler(ROWS), 3, False)}, True),
        ({"batch_sampler": BatchSampler(Subset(), 3, False)}, True),
        ({"batch_sampler": Recorded(SequentialSampler(ROWS), 3, False)}, True),
        ({"batch_sampler": Recorded(RandomSampler(ROWS), 3, False)}, True),
        ({"batch_sampler": [[3, 1], [2]]}, True),
        ({"shuffle": True}, False),
        ({"sampler": SubsetRandomSampler(range(9))}, False),
        ({"sampler": WeightedRandomSampler([0.5] * 24, 9)}, False),
        ({"sampler": OtherRandom(ROWS)}, False),
        ({"batch_sampler": BatchSampler(RandomSampler(ROWS), 3, False)}, False),
        ({"batch_sampler": BatchSampler(OtherRandom(ROWS), 3, False)}, False),
    ],
)
def test_only_a_random_order_of_torch_s_is_given_up(interpose, own, keeps):
    seen = interpose(num_workers=1, in_order=False).seen
    assert DataLoader(ROWS, **own).in_order is keeps
    assert seen.loaders[0].shuffles is not keeps
    assert bool(reach(seen)["in_order"]) is keeps


def test_wrong_arguments_of_a_script_meet_torch_s_own_error(interpose):
    def message():
        with pytest.raises(ValueError) as caught:
            DataLoader(ROWS, num_workers=-1)
        return str(caught.value)

    plain = message()
    interpose(num_workers=2, pin_memory=True)
    assert message() == plain
    with pytest.raises(TypeError, match="no_such_argument"):
        DataLoader(ROWS, no_such_argument=1)


def test_the_constructor_looks_as_ever_and_a_loader_pickles(interpose):
    before = inspect.signature(DataLoader.__init__), vars(DataLoader(ROWS)).keys()
    interpose(num_workers=1)
    loader = DataLoader(ROWS, 4)
    assert (inspect.signature(DataLoader.__init__), vars(loader).keys()) == before
    assert len(pickle.loads(pickle.dumps(loader))) == 6


@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_a_loader_whose_workers_only_hotlap_keeps_is_copied_as_ever(interpose, way):
    interpose(num_workers=1, persistent_workers=True)
    loader = DataLoader(ROWS, 4)
    list(loader)
    kept = loader._iterator
    twin = way(loader)
    assert len(list(twin)) == 6 and twin._iterator is None
    assert loader._iterator is kept and len(list(loader)) == 6


def test_a_loader_that_the_script_itself_keeps_the_workers_of_is_as_unwilling_as_ever(interpose):
    interpose(num_workers=1)
    loader = DataLoader(ROWS, 4, num_workers=1, persistent_workers=True)
    list(loader)
    with pytest.raises(NotImplementedError, match="cannot be pickled"):
        pickle.dumps(loader)


@pytest.mark.parametrize("num_workers", [0, 1])
@pytest.mark.parametrize("persistent_workers", [False, True])
def test_the_random_numbers_between_epochs_are_the_plain_script_s(
    interpose, num_workers, persistent_workers
):
    def numbers():
        torch.manual_seed(0)
        loader = DataLoader(ROWS, 4, shuffle=True)
        return [[batch[0].tolist() for batch in loader] + [torch.rand(1)] for _ in range(3)]

    plain = numbers()
    interpose(num_workers=num_workers, persistent_workers=persistent_workers)
    assert numbers() == plain


def test_the_training_loader_is_the_one_whose_batches_are_followed_by_steps(interpose):
    seen = interpose().seen
    training, evaluation = DataLoader(ROWS, 4), DataLoader(ROWS, 8)
    model = torch.nn.Linear(1, 1)
    list(evaluation)
    steps(model, training)
    list(evaluation)
    assert seen.training_loaders == [seen.loaders[0]]
    first, second = seen.loaders
    assert (first.n_iterators, first.n_batches, first.n_steps) == (1, 6, 6)
    assert (second.n_iterators, second.n_batches, second.n_steps) == (2, 6, 0)


@pytest.mark.parametrize("ends", [True, False])
def test_an_evaluation_between_a_batch_and_its_step_is_no_training(interpose, ends):
    seen = interpose().seen
    model = torch.nn.Linear(1, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for (x,) in DataLoader(ROWS, 4):
        with torch.set_grad_enabled(ends):
            for _ in DataLoader(ROWS, 12):
                if not ends:
                    break
        model(x.float()[:, None]).sum().backward()
        optimizer.step()
    assert [loader.n_steps for loader in seen.loaders] == [6, 0]


def test_loaders_that_give_batches_for_each_step_all_train(interpose):
    seen = interpose().seen
    labelled, other, evaluation = DataLoader(ROWS, 4), DataLoader(ROWS, 8), DataLoader(ROWS, 3)
    looks = iter(evaluation)
    model = torch.nn.Linear(1, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for (x,), (y,) in zip(labelled, other, strict=False):
        with torch.no_grad():
            next(looks)
        (model(x.float()[:, None]).sum() + model(y.float()[:, None]).sum()).backward()
        optimizer.step()
        list(DataLoader(ROWS, 12))
    assert [loader.trains for loader in seen.loaders] == [True, True, False, False]
    assert seen.loaders[1].n_steps == 3


def test_a_loader_that_is_made_anew_each_epoch_is_one_loader(interpose):
    seen = interpose(num_workers=1).seen
    for _ in range(3):
        list(DataLoader(ROWS, 4, shuffle=True))
    (loader,) = seen.loaders
    assert (loader.n_iterators, loader.n_batches) == (3, 18)


def test_without_interposition_torch_is_as_it_was(interpose):
    before = DataLoader.__init__, torch.nn.Module.__call__, torch.optim.Optimizer.__init__
    interposition = interpose(num_workers=2)
    interposition.remove()
    after = DataLoader.__init__, torch.nn.Module.__call__, torch.optim.Optimizer.__init__
    assert after == before and DataLoader(ROWS).num_workers == 0


@pytest.mark.parametrize("num_workers", [0, 1])
@pytest.mark.parametrize("keeps", [False, True])
def test_a_loader_that_nobody_holds_is_heard_during_its_pass(interpose, num_workers, keeps):
    interposition, ears = interpose(), Ears()
    interposition._loaders.listener = ears
    persistent = keeps and num_workers > 0
    for _ in range(2):
        for _ in DataLoader(ROWS, 6, num_workers=num_workers, persistent_workers=persistent):
            pass
    assert ears.given == [6] * 8


@pytest.mark.parametrize("whole", [True, False])
def test_a_loader_is_let_go_when_its_pass_is_over_or_broken_off(interpose, whole):
    interpose()
    loader = DataLoader(ROWS, 6, num_workers=1, persistent_workers=True)
    for _ in range(2):
        for _ in loader:
            if not whole:
                break
    iterator = weakref.ref(loader._iterator)
    gc.disable()  # it has to go by itself, and with it its workers
    try:
        del loader
        assert iterator() is None
    finally:
        gc.enable()


def test_loader_arguments_of_other_types_are_the_numbers_they_stand_for(interpose):
    interposition = interpose(prefetch_factor=3)
    loader = DataLoader(ROWS, num_workers=np.int64(1), pin_memory=0, persistent_workers=8)
    assert loader.prefetch_factor == 3 and loader.num_workers == 1 and interposition.notes == []
    assert json.dumps(interposition.seen.to_dict())


def test_the_making_of_an_iterator_is_told_apart_from_the_first_wait(interpose):
    class Names:
        told = []

        def __getattr__(self, name):
            return lambda *_: self.told.append(name)

    names = Names()
    interpose().listen(names)
    assert len(list(DataLoader(ROWS, 24))) == 1
    assert names.told == ["begins", "begun", "asks", "gives", "asks", "ends"]
