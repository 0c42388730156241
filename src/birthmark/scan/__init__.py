"""The main job, end to end: survey, split, search, judge, and the reading of it all.

`scan` is the way in, `ScanOptions` what can be asked of it, `Scan` what comes out.
"""

from birthmark.scan.options import ScanOptions
from birthmark.scan.run import scan
from birthmark.scan.state import Scan

__all__ = ["Scan", "ScanOptions", "scan"]
