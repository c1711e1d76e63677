"""The server and token of the command line: from the environment, else from a file that only its owner can read."""

import json
import os
import tempfile
from pathlib import Path

from carillon_client.connection import CarillonError


def file() -> Path:
    folder = os.environ.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    return Path(folder) / "carillon" / "account.json"


def read() -> tuple[str, str]:
    """The URL and the token. The stored token goes to no other server than its own."""
    url, token = os.environ.get("CARILLON_URL"), os.environ.get("CARILLON_TOKEN")
    if url and token:
        return url, token
    try:
        document = json.loads(file().read_text())
        address, stored = str(document["url"]), str(document["token"])
    except FileNotFoundError:
        raise CarillonError("You are not signed in. Run: carillon login URL") from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CarillonError(f"{file()} cannot be read ({type(error).__name__}). Run: carillon login URL") from None
    if url and not token and url.rstrip("/") != address.rstrip("/"):
        raise CarillonError(f"You are signed in to {address}, not to {url}. Set CARILLON_TOKEN too, or sign in there.")
    return url or address, token or stored


def write(url: str, token: str) -> Path:
    """Replace the file at once, so that a reader sees the old one or the new one."""
    path = file()
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor, name = tempfile.mkstemp(dir=path.parent)  # mode 0600
    with os.fdopen(descriptor, "w") as new:
        json.dump({"url": url, "token": token}, new)
    os.replace(name, path)
    return path


def forget() -> bool:
    """Whether there was an account."""
    try:
        file().unlink()
    except FileNotFoundError:
        return False
    return True
