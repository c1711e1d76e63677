"""Real processes, real engines, real faults: what was asked for is compared with what arrived.

`python -m bench.faults` runs the matrix; `docs/reliability.md` shows what it found.
"""
