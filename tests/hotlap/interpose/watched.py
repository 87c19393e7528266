"""Runs a script that is watched, with nothing imposed: `watched.py SCRIPT [ITS ARGUMENTS]`.

`hotlap run` with nothing to impose watches nothing, and would show nothing of what watching does.
"""

import sys

from hotlap.interpose import Imposed, begin
from hotlap.interpose.launch import Script, launch

begin(Imposed())
launch(Script(sys.argv[1], False, sys.argv[2:]))
