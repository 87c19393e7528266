"""Errors that hotlap raises on purpose. Each message is a sentence a user can act on."""


class HotlapError(Exception):
    """Base of all errors that hotlap raises on purpose."""


class UserInputError(HotlapError):
    """The user's input is wrong: a config, a settings file, an argument (exit code 2)."""


class SettingsError(UserInputError):
    """Settings hold an unknown name or a value that the setting cannot take."""


class FrozenFileError(UserInputError):
    """A frozen settings file cannot be read; the message names file and line."""


class InvalidTrial(HotlapError):
    """These settings cannot be tried on this workload; the trial's outcome is `invalid`."""


class NoBatch(InvalidTrial):
    """The loader gives no batch, at once or when it is read again.

    Args:
        n_epochs: Epochs that it has given batches for before.
    """

    def __init__(self, n_epochs: int = 0) -> None:
        once_only = (
            f"the loader gave batches in {n_epochs} epoch{'s' * (n_epochs > 1)} and none when the "
            "next one began: the __iter__ of the dataset (or of the sampler) can be used once "
            "only; let it return a new iterator each time that it is called"
        )
        empty = (
            "the loader gives no batch: the dataset has fewer samples than batch_size and "
            "drop_last is on, or it is empty; make the batch smaller or give it more data"
        )
        super().__init__(once_only if n_epochs else empty)


class Diverged(HotlapError):
    """The loss is not finite, or the optimizer was skipped too often; outcome `diverged`."""


class StudyFailed(HotlapError):
    """The study cannot go on, as when the baseline itself fails (exit code 1)."""


class NoRoom(HotlapError):
    """A disk takes no more, so nothing could be kept of what is measured (exit code 1)."""


def chain(error: BaseException | None) -> list[BaseException]:
    """The error and those it came from: the last one often names the cause, not the first."""
    found: list[BaseException] = []
    while error is not None and error not in found:
        found.append(error)
        error = error.__cause__ or error.__context__
    return found
