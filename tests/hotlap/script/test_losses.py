"""Losses of scripts, to compare settings."""

import pytest

from tests.hotlap.script.script_texts import TRAINING

TRAIN = TRAINING.replace("nn.Tanh()", "nn.Tanh(), nn.Dropout(0.5)") + "train(100)"


def losses(scripts, text=TRAIN, n=6, dice=0, override=(), **settings):
    order = {"settings": settings, "run": {"steps": n, "dice": dice}, "override": list(override)}
    found = scripts.run(text, "losses", timeout_s=250, **order)
    assert found.outcome == "ok", found.traceback
    return found.events[-1]


def test_the_same_again_is_the_same_to_the_bit(scripts):
    unseeded = TRAIN.replace("torch.manual_seed(0)", "torch.seed()")
    seen = losses(scripts), losses(scripts)
    assert seen[0]["losses"] == seen[1]["losses"] and len(seen[0]["losses"]) == 6
    assert seen[0]["batches"] == seen[1]["batches"]
    assert seen[0]["first_update"] == seen[1]["first_update"] > 0
    assert seen[0]["finite"] is True
    assert losses(scripts, unseeded)["losses"] != seen[0]["losses"]


def test_loader_settings_change_nothing(scripts):
    assert losses(scripts)["losses"] == losses(scripts, num_workers=2)["losses"]


ANEW = """
def batches():
    while True:
        iterator = iter(DataLoader(rows, batch_size=8, shuffle=True))
        for _ in range(2):
            yield next(iterator)
"""


def test_nor_where_loaders_are_made_anew_while_the_pass_before_is_open(scripts):
    text = TRAIN.replace("def train(", ANEW + "\ndef train(")
    text = text.replace("for x, y in loader:", "for x, y in batches():")
    plain, ours = losses(scripts, text), losses(scripts, text, num_workers=2)
    assert ours["batches"] == plain["batches"] and ours["repeatable"]


def test_other_dice_roll_otherwise_on_the_same_batches(scripts):
    seen = losses(scripts), losses(scripts, dice=1)
    assert seen[0]["batches"] == seen[1]["batches"]
    assert seen[0]["losses"] != seen[1]["losses"]


def test_another_precision_shows(scripts):
    assert losses(scripts)["losses"] != losses(scripts, amp="bf16")["losses"]


def test_a_script_that_ends_first_gives_what_it_has(scripts):
    short = TRAIN.replace("train(100)", "train(1)")
    assert 7 <= len(losses(scripts, short, n=50)["losses"]) <= 8


PARTS = """
from torch.utils.checkpoint import checkpoint

class Parts(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.rest = model[0], model[1:]

    def forward(self, x):
        x = self.first(x)
        return CALLED

model = Parts()
optimizer ="""


def in_parts(called):
    text = TRAINING.replace("optimizer =", PARTS.replace("CALLED", called))
    return text + "train(100)"


@pytest.mark.parametrize("reentrant", [True, False])
def test_a_checkpointed_model_has_the_losses_and_the_facts_of_a_plain_one(scripts, reentrant):
    plain = in_parts("self.rest(x)")
    text = in_parts(f"checkpoint(self.rest, x, use_reentrant={reentrant})")
    assert losses(scripts, text)["losses"] == losses(scripts, plain)["losses"]
    facts = scripts.facts(text)
    assert [root["name"] for root in facts["script"]["roots"]] == ["Parts"]
    assert facts["model_digest"] == scripts.facts(plain)["model_digest"]
    assert facts["script"]["loaders"][0]["steps_per_batch"] == 1


@pytest.mark.parametrize(
    "backward",
    [
        "torch.autograd.backward([loss])",
        "loss.backward(retain_graph=True); optimizer.zero_grad(); loss.backward()",
        "loss.backward(); out.backward(end.grad)",  # where the graph is cut in two
    ],
    ids=["list", "twice", "in parts"],
)
def test_other_forms_of_the_backward_pass_have_the_same_losses(scripts, backward):
    text = TRAIN.replace("loss.backward()", backward)
    if "end." in backward:
        text = text.replace("loss =", "out = model(x); end = out.detach().requires_grad_(); loss =")
        text = text.replace("mse_loss(model(x)", "mse_loss(end")
    assert losses(scripts, text)["losses"] == losses(scripts)["losses"]


HARDEST = """
class Hardest(torch.utils.data.Sampler):
    def __init__(self):
        self.losses = torch.zeros(64)

    def __len__(self):
        return 64

    def __iter__(self):
        for _ in range(64):
            yield int(self.losses.argmax())

sampler = Hardest()
loader = DataLoader(rows, batch_size=8, sampler=sampler)
"""


def test_an_order_that_follows_training_is_told_where_workers_have_another_one(scripts):
    hard = TRAIN.replace("loader = DataLoader(rows, batch_size=8, shuffle=True)", HARDEST)
    hard = hard.replace("optimizer.step()", "optimizer.step(); sampler.losses = torch.rand(64)")
    plain, ours = losses(scripts, hard), losses(scripts, hard, num_workers=2)
    assert plain["stale"] == losses(scripts, num_workers=2)["stale"] == ""
    assert "sampler.losses changed while" in ours["stale"]
    assert ours["batches"] != plain["batches"] and not plain["repeatable"]


@pytest.mark.slow
@pytest.mark.timeout(800)
def test_what_is_compiled_draws_the_numbers_of_dropout_that_it_would_draw_plain(scripts):
    plain = losses(scripts)["losses"]
    assert losses(scripts, compile_mode="default")["losses"] == pytest.approx(plain, rel=1e-4)
    own = TRAIN.replace("optimizer =", "model.compile()\noptimizer =")
    held = losses(scripts, own, override=["compile_mode"])["losses"]
    assert held == pytest.approx(plain, rel=1e-4)
