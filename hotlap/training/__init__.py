"""Tells a script's training from all else that it does, and keeps a clock of it.

`Units` is the way in: a listener of an Interposition (hotlap/interpose) that tells a `Follower`
(hotlap/script has one for each kind of job) of each unit of training. Nothing here changes what a
script does. How many batches and samples a pass over a loader has, `length` and `PassSize` say.
"""

from hotlap.training.pass_size import PassSize, length
from hotlap.training.unit import Follower
from hotlap.training.units import Units

__all__ = ["Follower", "PassSize", "Units", "length"]
