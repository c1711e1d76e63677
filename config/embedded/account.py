"""The account that runs the engines. PostgreSQL refuses to run as root, so root uses a system account."""

import os
import pwd
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

from config.embedded.var import CHECKOUT, say, var_dir

_NAME = "pgserver"  # the account that the wheel itself would make


class Account(NamedTuple):
    name: str
    uid: int
    gid: int

    def open_path_to(self, path: Path) -> None:
        """Let the account pass through the directories above `path`, without listing them."""
        for directory in reversed(path.resolve().parents):
            status = directory.stat()
            if status.st_uid == self.uid:
                continue
            if any(directory.is_relative_to(var) for var in (var_dir(), CHECKOUT / "var")):  # others must not read it
                os.chown(directory, -1, self.gid)
                directory.chmod(0o710)
            elif not status.st_mode & 0o001:
                say(f"Letting the user {self.name} pass through {directory} (chmod o+x), to reach {path}")
                directory.chmod(status.st_mode | 0o001)

    def may_run(self, executable: Path) -> bool:
        """Whether the account can run `executable`. Makes a tree that only root can read readable."""
        self.open_path_to(executable)
        if self._runs(executable):
            return True
        tree = executable.parent.parent
        say(f"Letting the user {self.name} read {tree} (chmod -R o+rX), to run {executable.name}")
        for path in (tree, *tree.parent.glob(f"{tree.parent.name}.libs"), *tree.rglob("*")):
            if not path.is_symlink():
                mode = path.stat().st_mode
                path.chmod(mode | (0o005 if path.is_dir() or mode & 0o100 else 0o004))
        return self._runs(executable)

    def _runs(self, executable: Path) -> bool:
        try:
            probe = subprocess.run([executable, "--version"], capture_output=True, check=False, **run_as(self))
        except PermissionError:
            return False
        return probe.returncode == 0


def run_as(account: Account | None) -> dict[str, Any]:
    """Arguments for `subprocess` that start a child as the account; none for None."""
    if account is None:
        return {}
    return {"user": account.uid, "group": account.gid, "extra_groups": []}


def account_for(data: Path) -> Account | None:
    """The account to run the engine of `data`: None unless we are root.

    For root: the owner of the data, else the account `pgserver`, created if missing, else `nobody`.
    """
    if os.geteuid() != 0:
        return None
    if data.exists() and (owner := data.stat()).st_uid != 0:
        return Account(f"number {owner.st_uid}", owner.st_uid, owner.st_gid)
    import shutil

    entry = _entry(_NAME)
    if entry is None and (useradd := shutil.which("useradd")):
        say(f"Making the system user {_NAME}: PostgreSQL does not run as root")
        subprocess.run([useradd, "--system", "--no-create-home", _NAME], capture_output=True, check=False)
        entry = _entry(_NAME)
    entry = entry or _entry("nobody")
    if entry is None:
        raise LookupError(
            "no account to run PostgreSQL with: make a system user called pgserver, or start as a plain user"
        )
    return Account(entry.pw_name, entry.pw_uid, entry.pw_gid)


def _entry(name: str) -> pwd.struct_passwd | None:
    try:
        return pwd.getpwnam(name)
    except KeyError:
        return None
