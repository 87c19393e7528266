"""Units on a virtual clock: whatever a script does besides, training time is what training took."""

import pytest
import torch

from hotlap.interpose.seen import LoaderSeen
from hotlap.interpose.units import MOVED_ON, Units

ASK, FORWARD, STEP = 1.0, 2.0, 3.0
"""Virtual seconds of each part; a unit takes 6."""

UNIT = ASK + FORWARD + STEP
BATCH = 4


class Loader:
    """What Units reads of a DataLoader."""

    def __init__(self, n, batch_size=BATCH, n_samples=None, drop_last=False):
        self.batch_size, self.drop_last, self.n = batch_size, drop_last, n
        self.batch_sampler = None
        self.sampler = range(n * batch_size if n_samples is None else n_samples)

    def __len__(self):
        return self.n


class Script:
    """A script that tells a listener what it does, on a virtual clock."""

    def __init__(self):
        self.now = 100.0
        self.finished = []
        self.begun = None
        self.moved_on_to = None
        self.units = Units(self, lambda: self.now)
        self.training = Loader(5)
        self.seen = {}

    def begin(self, loader):
        self.begun = loader, self.units.clock()

    def done(self, n_samples, loss, batch):
        self.finished.append((n_samples, self.units.clock()))

    def moved_on(self, seen):
        self.moved_on_to = seen

    def does(self, seconds):
        self.now += seconds

    def of(self, loader):
        return self.seen.setdefault(
            id(loader),
            LoaderSeen("DataLoader", "D", loader.batch_size, 0, "RandomSampler", False, "a.py:1"),
        )

    def begins(self, loader):
        self.units.begins(self.of(loader))

    def takes(self, loader, seconds=ASK):
        self.units.asks(self.of(loader))
        self.does(seconds)
        self.units.gives(self.of(loader), loader, None, None)

    def ends(self, loader):
        self.units.asks(self.of(loader))
        self.units.ends(self.of(loader))

    def forward(self, trains=True, seconds=FORWARD):
        self.units.forward(None, trains)
        self.does(seconds)

    def step(self, optimizer="sgd", seconds=STEP):
        self.does(seconds)
        self.units.stepped(OPTIMIZERS[optimizer])

    def train(self, loader=None):
        loader = loader or self.training
        self.takes(loader)
        self.forward()
        self.step()

    def train_pass(self, between=lambda i: None):
        self.begins(self.training)
        for i in range(len(self.training)):
            self.train()
            between(i)
        self.ends(self.training)

    def evaluate(self, loader, n=3):
        self.begins(loader)
        for _ in range(n):
            self.takes(loader, 7.0)
            self.forward(trains=False, seconds=11.0)
        self.ends(loader)

    @property
    def seconds(self):
        """Training time of each unit after the first, whose begin is the clock's."""
        at = [self.begun[1], *(clock for _, clock in self.finished)]
        return [b - a for a, b in zip(at, at[1:], strict=False)]


class Optimizer:
    """Anything that can be referred to weakly."""


OPTIMIZERS = {"sgd": Optimizer(), "other": Optimizer()}


@pytest.fixture
def script():
    return Script()


def test_a_plain_loop(script):
    for _ in range(3):
        script.train_pass()
    assert script.begun == (script.training, 100.0)
    assert script.seconds == [UNIT] * 15
    assert [n for n, _ in script.finished] == [BATCH] * 15
    assert script.units.wait_s == 15 * ASK
    assert script.units.n_epochs == 3
    assert script.units.n_epoch_steps == 5


def test_the_start_of_workers_is_the_first_batchs_wait(script):
    for _ in range(2):
        script.begins(script.training)
        script.does(20)
        for _ in range(2):
            script.train()
        script.ends(script.training)
    assert script.seconds == [UNIT + 20, UNIT, UNIT + 20, UNIT]
    assert script.units.wait_s == 4 * ASK + 40


def test_an_evaluation_after_each_pass_is_no_training(script):
    test = Loader(3)
    for _ in range(3):
        script.train_pass()
        script.does(50)  # a checkpoint
        script.evaluate(test)
        script.does(50)
    assert script.seconds == [UNIT] * 15


def test_an_evaluation_between_two_steps_is_no_training(script):
    test = Loader(3)
    script.train_pass(lambda i: script.evaluate(test) if i in (1, 2) else None)
    assert script.seconds == [UNIT] * 5


@pytest.mark.parametrize("kind", ["whole", "stopped", "with gradients", "no root"])
def test_an_evaluation_with_a_batch_in_hand_is_no_training(script, kind):
    test = Loader(3)
    for _ in range(2):
        script.begins(script.training)
        for i in range(5):
            script.takes(script.training)
            if i in (0, 3):
                script.begins(test)
                for _ in range(3):
                    with torch.set_grad_enabled(kind == "with gradients"):
                        script.takes(test, 7.0)
                    if kind != "no root":
                        script.forward(trains=kind == "with gradients", seconds=11.0)
                if kind != "stopped":
                    script.ends(test)
                script.does(50)
            script.forward()
            script.units.backward(0)
            script.step()
        script.ends(script.training)
    assert script.seconds == [UNIT + 3 * 7 + 50 + (33 if kind != "no root" else 0), *[UNIT] * 9]
    assert [n for n, _ in script.finished] == [BATCH] * 10


def test_one_without_a_loader_neither(script):
    def picture(i):
        if i == 2:
            script.forward(trains=False, seconds=30)
            script.does(30)

    script.train_pass(picture)
    assert script.seconds == [UNIT] * 5


def test_an_evaluation_on_the_training_loader_neither(script):
    for _ in range(2):
        script.train_pass()
        script.evaluate(script.training, 5)
        script.evaluate(script.training, 5)
    assert script.seconds == [UNIT] * 10
    assert script.units.wait_s == 10 * ASK
    assert script.units.n_epochs == 2


def test_a_teacher_called_without_gradients_is_training(script):
    script.begins(script.training)
    for _ in range(4):
        script.takes(script.training)
        script.forward(trains=False, seconds=5)
        script.forward()
        script.step()
    script.ends(script.training)
    assert script.seconds == [UNIT + 5] * 4


def test_batches_fetched_ahead(script):
    """accelerate asks for the next batch before it hands on the last one."""
    for _ in range(2):
        script.begins(script.training)
        script.takes(script.training)
        for _ in range(4):
            script.takes(script.training)
            script.forward()
            script.step()
        script.ends(script.training)
        script.forward()
        script.step()
        script.does(40)
    script.begins(script.training)
    script.takes(script.training)
    script.takes(script.training)
    # Before the first step nobody knows that the very first batch will be trained on.
    assert sum(script.seconds) == 10 * UNIT - ASK
    assert sum(n for n, _ in script.finished) == 9 * BATCH


def test_accumulation(script):
    script.begins(script.training)
    for i in range(8):
        script.takes(script.training)
        script.forward()
        if i % 4 == 3:
            script.step()
    script.ends(script.training)
    # The first step comes after four batches; the first three of them belong to nothing yet.
    assert [n for n, _ in script.finished] == [BATCH] * 5
    assert script.seconds == [UNIT] + [ASK + FORWARD] * 3 + [UNIT]


def test_two_optimizers(script):
    script.begins(script.training)
    for i in range(5):
        script.takes(script.training)
        script.forward()
        script.step("other")
        script.forward(trains=False, seconds=1)  # fakes for the discriminator
        script.forward()
        if i % 2 == 0:
            script.step()
    script.ends(script.training)
    assert [n for n, _ in script.finished] == [BATCH] * 5
    assert sum(script.seconds) == 5 * (ASK + 2 * FORWARD + STEP + 1) + 3 * STEP


def test_one_of_two_loaders_trained_on_together(script):
    labelled, other = script.training, Loader(100)
    script.begins(other)
    script.begins(labelled)
    for _ in range(5):
        script.takes(other)
        script.takes(labelled)
        script.forward()
        script.step()
    script.ends(labelled)
    # A pass begins with its first wait, and a unit ends when its own loader is asked, behind the
    # other one. Before the first step nobody knows that the other's batch will be trained on.
    assert script.seconds == [UNIT + 2 * ASK, *[UNIT + ASK] * 3, UNIT]
    assert [n for n, _ in script.finished] == [BATCH, *[2 * BATCH] * 4]


def test_a_script_that_makes_its_batches_itself(script):
    for i in range(6):
        if i % 3 == 0:
            script.forward(trains=False, seconds=50)
        script.does(ASK)
        script.forward()
        script.step()
        script.step("other")
    assert script.begun[0] is None
    assert [n for n, _ in script.finished] == [1] * 6
    # The first unit begins with its forward pass. Making a batch after a picture is not told from
    # the picture.
    first = FORWARD + STEP
    assert script.seconds == [
        first,
        UNIT + STEP,
        UNIT + STEP,
        UNIT + STEP - ASK,
        *2 * [UNIT + STEP],
    ]


def test_the_last_batch_of_a_pass_has_what_is_left(script):
    script.training = Loader(3, n_samples=2 * BATCH + 1)
    script.train_pass()
    assert [n for n, _ in script.finished] == [BATCH, BATCH, 1]


def test_a_loader_that_drops_the_rest(script):
    script.training = Loader(2, n_samples=2 * BATCH + 1, drop_last=True)
    script.train_pass()
    assert [n for n, _ in script.finished] == [BATCH, BATCH]


def test_several_loaders_that_give_batches_for_each_step(script):
    others = [Loader(100), Loader(100)]
    for loader in [*others, script.training]:
        script.begins(loader)
    for _ in range(5):
        for loader in [*others, others[1], script.training]:
            script.takes(loader)
        script.forward()
        script.step()
    script.ends(script.training)
    assert script.seconds == [UNIT + 6 * ASK, *[UNIT + 3 * ASK] * 3, UNIT]
    assert [n for n, _ in script.finished] == [BATCH, *[4 * BATCH] * 4]


def test_two_loaders_of_different_batch_sizes(script):
    labelled, other = Loader(5, 3), Loader(5, 7)
    for _ in range(2):
        script.begins(labelled)
        script.begins(other)
        for _ in range(5):
            script.takes(labelled)
            script.takes(other)
            script.forward()
            script.step()
        script.ends(labelled)
        script.does(50)
    assert [n for n, _ in script.finished] == [7, *[10] * 8]


def test_an_evaluations_batches_are_no_samples(script):
    def between(i):
        if i in (1, 3):
            script.evaluate(test, n=1)  # so short that its time is not told from training

    test = Loader(1)
    for _ in range(2):
        script.train_pass(between)
        script.evaluate(test, n=3)
    assert [n for n, _ in script.finished] == [BATCH] * 10


def test_an_evaluation_that_calls_no_root_between_two_steps_is_no_training(script):
    def between(i):
        script.begins(other)
        for _ in range(3):
            script.takes(other, 7.0)
        script.ends(other)

    other = Loader(3)
    script.train_pass(between)
    assert script.seconds == [UNIT] * 5


def test_a_script_that_trains_on_with_another_loader(script):
    other = Loader(1000)
    script.train_pass()
    script.begins(other)
    for _ in range(MOVED_ON):
        assert script.moved_on_to is None
        script.train(other)
    assert script.moved_on_to is script.of(other)


def test_a_batch_size_that_grows_from_pass_to_pass(script):
    for n in (1, 2, 4):
        script.training = Loader(5, n * BATCH)
        script.train_pass()
        script.does(50)
        script.evaluate(Loader(3, 99))
    assert script.moved_on_to is None
    assert script.seconds == [UNIT] * 15
    assert [n for n, _ in script.finished] == [BATCH] * 5 + [2 * BATCH] * 5 + [4 * BATCH] * 5
    assert script.units.n_epoch_steps == 5 and script.units.wait_s == 15 * ASK


def test_a_batch_size_that_grows_within_a_pass(script):
    script.begins(script.training)
    script.train()
    script.train()
    grown = Loader(1000, 2 * BATCH)
    script.begins(grown)
    for _ in range(MOVED_ON + 3):
        script.train(grown)
    assert script.moved_on_to is None
    # What was trained before it was known to be for good counts as one unit.
    n_before = (MOVED_ON - 1) * 2
    assert [n for n, _ in script.finished] == [BATCH, (1 + n_before) * BATCH, *[2 * BATCH] * 3]
    assert sum(script.seconds) == UNIT * (2 + MOVED_ON + 2)


def test_loaders_that_take_turns(script):
    other = Loader(1000)
    script.begins(script.training)
    script.begins(other)
    for _ in range(5):
        script.train()
        for _ in range(MOVED_ON - 1):
            script.train(other)
    assert script.moved_on_to is None
    assert [n for n, _ in script.finished] == [MOVED_ON * BATCH] * 4


@pytest.mark.parametrize("ends", [True, False])
def test_an_evaluation_with_gradients_and_in_training_mode_is_no_training(script, ends):
    def evaluate():
        script.begins(other)
        for _ in range(3):
            script.takes(other, 7.0)
            script.forward(seconds=11.0)
        script.ends(other)

    other = Loader(3)
    for _ in range(2):
        script.train_pass(lambda i: None if ends else evaluate())
        if ends:
            evaluate()
    assert script.seconds == [UNIT] * 10


def test_an_evaluation_between_a_passs_begin_and_its_first_batch_is_no_training(script):
    script.train_pass()
    script.begins(script.training)
    script.evaluate(Loader(3))
    for _ in range(5):
        script.train()
    script.ends(script.training)
    assert script.seconds == [UNIT] * 10


def test_without_a_loader_a_new_optimizer_takes_the_place_of_one_that_is_gone(script):
    folds = [Optimizer(), Optimizer()]
    for i in range(2):
        for _ in range(3):
            script.forward()
            script.units.stepped(folds[i])
        folds[i] = None
    assert script.seconds == [FORWARD] * 6


def test_without_a_loader_a_new_optimizer_takes_the_place_of_one_that_rests(script):
    script.forward()
    script.step()
    for _ in range(MOVED_ON + 3):
        script.forward()
        script.step("other")
    assert script.seconds == [UNIT - ASK, MOVED_ON * (UNIT - ASK), *[UNIT - ASK] * 3]
