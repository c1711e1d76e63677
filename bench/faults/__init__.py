"""The fault matrix: inject faults into real processes and engines, and compare what was asked with what arrived.

`script/bench faults` runs the matrix; `docs/reliability.md` shows what it found.
"""
