"""Where something was made is found without keeping anything of the script alive."""

import functools
import sys
import weakref

import torch
from torch.utils.data import DataLoader, Dataset


class Rows(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, i):
        return torch.tensor(float(i))


def test_what_a_function_deletes_is_gone_though_it_has_made_a_loader_and_an_optimizer(interpose):
    interpose()

    def fold():
        model, rows = torch.nn.Linear(2, 1), Rows()
        held = [weakref.ref(model), weakref.ref(rows)]
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        loader = DataLoader(rows, 4)
        list(loader)
        optimizer.step()
        del model, rows, loader
        return [one() for one in held]

    assert fold() == [None, None]


def noted(function):
    @functools.wraps(function)
    def around(*args, **kwargs):
        return function(*args, **kwargs)

    return around


class Mine(DataLoader):
    @noted
    def __init__(self, rows):
        super().__init__(rows, 4)


class More(Mine):
    def __init__(self):
        super().__init__(Rows())


class Own(torch.optim.SGD):
    def __init__(self, parameters):
        super().__init__(parameters, lr=0.1)


def test_the_constructors_of_its_own_classes_are_not_the_place_of_its_making(interpose):
    interposition = interpose()
    loader, line = More(), this_line()
    optimizer = Own(torch.nn.Linear(2, 1).parameters())
    optimizer.step()
    (seen,) = interposition.seen.loaders
    assert len(loader) == 2 and seen.where == f"{__file__}:{line}"
    assert interposition.seen.optimizers[0].where == f"{__file__}:{line + 1}"


def this_line():
    return sys._getframe(1).f_lineno
