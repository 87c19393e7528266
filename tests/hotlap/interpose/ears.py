"""A listener that keeps of which loaders the batches are, by their batch size."""


class Ears:
    begins = begun = is_over = asks = ends = lambda self, seen, looked_s=0.0: None

    def __init__(self):
        self.given = []

    def gives(self, seen, loader, iterator, batch):
        self.given.append(loader.batch_size)
