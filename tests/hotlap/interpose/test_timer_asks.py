"""What a timer asks besides units: a script's waiting, and what hotlap itself has taken."""

import torch

from tests.hotlap.interpose.virtual_script import ASK


def test_waiting_is_known_as_it_was_at_the_epochs_begin(script):
    script.train_pass()
    script.begins(script.training, 20)  # workers that start
    script.train()
    script.takes(script.training)
    assert script.units.taken.wait_before_s == 5 * ASK
    assert script.units.taken.wait_s == 6 * ASK + 20


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
