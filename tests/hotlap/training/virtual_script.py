"""A script on a virtual clock: what hotlap's listener hears of it, part by part."""

from hotlap.interpose.seen import LoaderSeen
from hotlap.training import Units

ASK, FORWARD, STEP = 1.0, 2.0, 3.0
"""Virtual seconds of each part; a unit takes 6."""

UNIT = ASK + FORWARD + STEP
BATCH = 4


class Loader:
    """What Units reads of a DataLoader."""

    def __init__(self, n, batch_size=BATCH, n_samples=None, drop_last=False, where="a.py:1"):
        self.where = where
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
        self.n_steps_on = 0
        self.alone_after = None
        self.units = Units(self, lambda: self.now)
        self.training = Loader(5)
        self.seen = {}

    def begin(self, loader):
        self.begun = loader, self.units.clock()

    def done(self, n_samples, loss, batch):
        self.finished.append((n_samples, self.units.clock()))

    def moved_on(self, seen):
        self.moved_on_to = seen

    def steps_on(self):
        self.n_steps_on += 1

    def alone(self):
        self.alone_after = len(self.finished)

    def does(self, seconds):
        self.now += seconds

    def of(self, loader):
        return self.seen.setdefault(
            id(loader),
            LoaderSeen("DataLoader", "D", loader.batch_size, 0, "Random", False, loader.where),
        )

    def begins(self, loader, seconds=0.0):
        self.units.begins(self.of(loader))
        self.does(seconds)  # its workers start
        self.units.begun(self.of(loader))

    def takes(self, loader, seconds=ASK, iterator=None):
        self.units.asks(self.of(loader))
        self.does(seconds)
        self.units.gives(self.of(loader), loader, iterator, None)

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
