"""Puts settings in force on a script that does not know hotlap, and sees what is in it.

`begin` is the way in. torch is imported only after the script does so itself: a script may set
environment variables first that torch reads at its import.
"""

from hotlap.interpose.begin import active, begin
from hotlap.interpose.imposed import Imposed
from hotlap.interpose.reach import reach
from hotlap.interpose.seen import Seen

__all__ = ["Imposed", "Seen", "active", "begin", "reach"]
