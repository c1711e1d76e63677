"""The command of a web process, and what command lines say of their processes."""

import argparse
import os
import sys

from config.environment import env


def web_command(host: str, port: int) -> list[str]:
    """The command of a web process. uvicorn believes X-Forwarded-For only with BEHIND_PROXY."""
    believes = env.flag("BEHIND_PROXY", False) and not env.networks("PROXY_NETWORKS")
    proxy = [] if believes else ["--no-proxy-headers"]
    uvicorn = [sys.executable, "-m", "uvicorn", "config.asgi:application", "--lifespan", "off"]
    return [*uvicorn, "--host", host, "--port", str(port), "--timeout-graceful-shutdown", "5", *proxy]


def threads_of(command: list[str]) -> bool:
    """Whether this command line starts `script/server`, or a worker with threads, the default of `celery worker`."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("-P", "--pool", default="threads")
    options, others = parser.parse_known_args(command)
    worker = "celery" in command[0] and "worker" in others and options.pool == "threads"
    return worker or command[0].endswith("config/processes/server.py")


def role_of(command: list[str]) -> str:
    """The name in PostgreSQL of this command line's process: "carillon worker", "carillon migrate"."""
    program = os.path.basename(os.path.dirname(command[0]) if command[0].endswith("__main__.py") else command[0])
    words = [word for word in command[1:] if word in ("worker", "beat")] if program == "celery" else command[1:2]
    return " ".join(["carillon", "web" if program == "uvicorn" else "".join(words[:1])]).strip()[:63]
