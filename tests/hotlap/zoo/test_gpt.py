import pytest
import torch

from hotlap.errors import UserInputError
from hotlap.zoo.gpt import Decoder, gpt_small


def test_a_token_sees_only_what_came_before_it():
    torch.manual_seed(0)
    model = Decoder(n_layers=2, n_heads=2, width=16, context=8).eval()
    tokens = torch.randint(256, (1, 8))
    changed = tokens.clone()
    changed[0, 5] = (changed[0, 5] + 1) % 256
    a, b = model(tokens), model(changed)
    assert torch.allclose(a[:, :5], b[:, :5], atol=1e-6)
    assert not torch.allclose(a[:, 5:], b[:, 5:], atol=1e-6)


def test_begins_with_the_loss_of_a_guess(text_data):
    torch.manual_seed(0)
    workload = gpt_small(text_data, batch_size=2, context=32, n_layers=2, device="cpu")
    batch = torch.utils.data.default_collate([workload.dataset[i] for i in range(2)])
    loss = workload.loss(workload.model, batch)
    assert loss.item() == pytest.approx(torch.tensor(256.0).log().item(), abs=0.5)


def test_says_how_many_tokens_a_sample_has(text_data):
    assert gpt_small(text_data, context=32, n_layers=1, device="cpu").tokens_per_sample == 32


def test_is_as_large_as_gpt2_small_on_a_gpu(text_data):
    with torch.device("meta"):
        workload = gpt_small(text_data, device="cuda")
    layers = sum(p.numel() for p in workload.model.layers.parameters())
    assert layers == pytest.approx(85e6, rel=0.01)  # GPT-2 small's 124 M less its embeddings
    assert workload.tokens_per_sample == 1024


def test_refuses_a_width_that_heads_cannot_share(text_data):
    with pytest.raises(UserInputError, match="type model.width=99"):
        gpt_small(text_data, width=100, n_heads=3, device="cpu")
