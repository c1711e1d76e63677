"""Mutants of the core: which of them the fast tests notice.

`script/bench mutants` takes a sample; `docs/reliability.md` shows what it found.
"""
