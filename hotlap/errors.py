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


class Diverged(HotlapError):
    """The loss is not finite, or the optimizer was skipped too often; outcome `diverged`."""


class StudyFailed(HotlapError):
    """The study cannot go on, as when the baseline itself fails (exit code 1)."""
