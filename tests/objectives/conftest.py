import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "hotlap"))  # virtual.py is shared
