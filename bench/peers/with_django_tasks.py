"""django-tasks with its database backend: `install`, `publish N`; the worker is its `manage.py db_worker`."""

from __future__ import annotations

import sys

import django

django.setup()

from django.core.management import call_command  # noqa: E402 - after the set-up
from django_tasks import task  # noqa: E402


@task(queue_name="peer")
def post() -> None:
    from bench.peers.request import post

    post()


if __name__ == "__main__":
    match sys.argv[1]:
        case "install":
            call_command("migrate", "django_tasks_database", verbosity=0)
        case "publish":
            for _ in range(int(sys.argv[2])):
                post.enqueue()
        case "work":
            call_command("db_worker", queue_name="peer", interval=0.1, startup_delay=False, reload=False, verbosity=0)
