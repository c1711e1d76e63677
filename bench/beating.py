"""`python -m bench.beating`: the beat of `script/bench punctual`, on the bench's own queues."""

from __future__ import annotations

from bench.ground import seat

if __name__ == "__main__":
    app = seat()
    app.Beat(quiet=True, loglevel="WARNING", pidfile=None).run()
