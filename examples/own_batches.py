"""No DataLoader: a function cuts batches out of one long text, a small transformer learns it."""

import torch
from torch import nn

N_LETTERS, LENGTH = 16, 24

torch.manual_seed(3)
text = torch.randint(0, N_LETTERS, (4096,))


def get_batch(n_rows: int = 8) -> tuple[torch.Tensor, torch.Tensor]:
    """Letters and the letters after them, each of shape (n_rows, LENGTH)."""
    starts = torch.randint(0, len(text) - LENGTH - 1, (n_rows,))
    return (
        torch.stack([text[i : i + LENGTH] for i in starts]),
        torch.stack([text[i + 1 : i + 1 + LENGTH] for i in starts]),
    )


class Model(nn.Module):
    """Predicts the next letter; gives logits and, with targets, the loss."""

    def __init__(self) -> None:
        super().__init__()
        self.letters = nn.Embedding(N_LETTERS, 32)
        self.places = nn.Parameter(torch.zeros(LENGTH, 32))
        self.block = nn.TransformerEncoderLayer(32, 2, 64, dropout=0.1, batch_first=True)
        self.out = nn.Linear(32, N_LETTERS)

    def forward(
        self, letters: torch.Tensor, targets: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Logits of shape (n_rows, LENGTH, N_LETTERS), and the mean loss."""
        mask = nn.Transformer.generate_square_subsequent_mask(LENGTH)
        logits = self.out(self.block(self.letters(letters) + self.places, mask, is_causal=True))
        if targets is None:
            return logits, None
        return logits, nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())


model = Model()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(12):
    if step % 6 == 0:
        model.eval()
        with torch.no_grad():
            print("evaluation", model(*get_batch())[1].item().hex())
        model.train()
    logits, loss = model(*get_batch())
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    print("loss", loss.item().hex())
