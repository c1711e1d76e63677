"""healthchecks-io, the client on PyPI of Healthchecks' management API, with `/api/v3` and the addresses of watches."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from config.embedded.var import var_dir
from people import tokens
from people.models import User
from tests.make import make_channel, make_watch
from tests.process.web import Web
from watches.models import Ping, PingKey, Watch

pytestmark = pytest.mark.django_db(transaction=True)

CLIENT = "healthchecks-io==0.4.4"
PROGRAM = """
import json, sys
from healthchecks_io import CheckCreate, CheckTrap, CheckUpdate, Client

url, key, ping_key = sys.argv[1:]
found = {}
with Client(api_key=key, ping_key=ping_key, api_url=f"{url}/api/", ping_url=f"{url}/ping/", api_version=3) as client:
    backup = CheckCreate(name="Backup", tags="db night", timeout=3600, unique=["name"])
    made = client.create_check(backup)
    found["made once"] = client.create_check(backup).uuid == made.uuid
    cron = client.create_check(CheckCreate(name="Report", schedule="*/5 * * * *", tz="Europe/Berlin"))
    found["names"] = sorted(check.name for check in client.get_checks())
    found["by tag"] = [check.name for check in client.get_checks(tags=["db"])]
    found["pinged"] = [
        client.start_ping(uuid=made.uuid)[0],
        client.success_ping(uuid=made.uuid, data="42 files")[0],
        client.fail_ping(uuid=made.uuid)[0],
        client.exit_code_ping(0, uuid=made.uuid)[0],
        client.success_ping(slug="by-slug")[0],
    ]
    with CheckTrap(client, uuid=cron.uuid) as check:
        check.add_log("written")
    found["pings"] = [ping.type for ping in client.get_check_pings(made.uuid)]
    found["flips"] = len(client.get_check_flips(made.uuid))
    found["status"] = client.get_check(made.uuid).status
    found["grace"] = client.update_check(made.uuid, CheckUpdate(grace=60)).grace
    found["paused"] = client.pause_check(made.uuid).status
    found["integrations"] = [channel.kind for channel in client.get_integrations()]
    client.delete_check(cron.uuid)
print(json.dumps(found))
"""


@pytest.fixture
def packages() -> Path:
    """A folder with the client and its packages, which are older than ours."""
    folder = var_dir() / "healthchecks"
    if not (folder / "healthchecks_io").exists():
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(folder), CLIENT]
        subprocess.run(command, check=True)
    return folder


def test_the_client_makes_reads_pings_pauses_and_deletes_checks(ada: User, packages: Path) -> None:
    make_watch(ada, [make_channel(ada)], name="By slug", slug="by-slug")
    key = tokens.create(ada, "Checks", list(tokens.SCOPES), None)[1]
    ping_key = PingKey.objects.create(user=ada).key
    with Web() as web:
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, f"http://127.0.0.1:{web.port}", key, ping_key],
            env=os.environ | {"PYTHONPATH": str(packages)},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "made once": True,
        "names": ["Backup", "By slug", "Report"],
        "by tag": ["Backup"],
        "pinged": [True] * 5,
        "pings": ["success", "fail", "success", "start"],
        "flips": 0,  # beat, which tells them, does not run
        "status": "up",
        "grace": 60,
        "paused": "paused",
        "integrations": ["inbox"],
    }
    by_slug, backup = Watch.objects.filter(deleted_at=None).order_by("-name")
    assert by_slug.ping_count == 1
    assert (backup.name, backup.tags, backup.ping_count) == ("Backup", ["db", "night"], 4)
    assert Ping.objects.filter(watch__name="Report", output="written", kind="success").exists()
