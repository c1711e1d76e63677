"""Real processes, real engines, real faults: what was asked for is compared with what arrived.

`script/bench faults` runs the matrix; `docs/reliability.md` shows what it found.
"""
