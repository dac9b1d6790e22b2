"""Run some cases and print the outcomes: ``python -m fuzz csv 0 2000`` from ``tests``."""

from __future__ import annotations

import json
import sys

from fuzz.pool import Worker, run_cases, tally

name, first, last = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
with Worker() as worker:
    counts, faults = tally(run_cases(worker, name, range(first, last)))
for fault in faults:
    sys.stdout.write(json.dumps(fault) + "\n")
sys.stdout.write(json.dumps({"format": name, "first": first, "last": last, **counts}) + "\n")
