"""Hugging Face's Trainer: it owns the loop, wraps the loader, evaluates; needs `transformers`."""

import torch
from torch.utils.data import Dataset
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    PrinterCallback,
    Trainer,
    TrainerCallback,
    TrainingArguments,
)

N_WORDS, LENGTH = 64, 16


class Rows(Dataset):
    """Rows of word numbers; the label says whether the first half has the greater sum."""

    def __init__(self, n_rows: int, seed: int) -> None:
        generator = torch.Generator().manual_seed(seed)
        self.words = torch.randint(0, N_WORDS, (n_rows, LENGTH), generator=generator)

    def __len__(self) -> int:
        return len(self.words)

    def __getitem__(self, i: int) -> dict[str, torch.Tensor]:
        first, second = self.words[i].chunk(2)
        return {"input_ids": self.words[i], "labels": (first.sum() > second.sum()).long()}


class Tell(TrainerCallback):
    """Prints each loss to the bit."""

    def on_log(self, args, state, control, logs=None, **kwargs) -> None:
        """Called at each logging step, and after an evaluation."""
        for name in ("loss", "eval_loss"):
            if name in logs:
                print(name, float(logs[name]).hex())


def main() -> None:
    """Train a small BERT, made from its config: nothing is downloaded."""
    torch.manual_seed(6)
    config = BertConfig(
        vocab_size=N_WORDS,
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=LENGTH,
    )
    arguments = TrainingArguments(
        output_dir="hf_trainer",
        per_device_train_batch_size=8,
        num_train_epochs=2,
        logging_steps=1,
        eval_strategy="epoch",
        save_strategy="no",
        report_to="none",
        dataloader_pin_memory=torch.cuda.is_available(),
        disable_tqdm=True,
        seed=6,
    )
    trainer = Trainer(
        model=BertForSequenceClassification(config),
        args=arguments,
        train_dataset=Rows(128, seed=0),
        eval_dataset=Rows(32, seed=1),
        callbacks=[Tell()],
    )
    trainer.remove_callback(PrinterCallback)  # it prints times
    trainer.train()


if __name__ == "__main__":
    main()
