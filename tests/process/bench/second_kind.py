"""Run by `test_faults.py`: the pages of entries, the kind of work of the fault matrix."""

from __future__ import annotations

from contextlib import suppress
from io import StringIO

from django.core import mail
from django.core.management import call_command
from django.test.utils import setup_test_environment
from django.utils import timezone

from bench.faults.models import Entry
from bench.faults.tasks import ENTRY, REFUSED
from bench.faults.workload import clear
from tests.make import make_user, signed_in
from work.engine import runner
from work.engine.runner import TryAgain
from work.models import Intervention
from work.operators import summary as operator_summary

CAUSE = "refused-until-replayed"
LIST, CAUSES = "/admin/faults/deadletter/", "/admin/faults/deadletter/causes/"

setup_test_environment()
clear()
client = signed_in(make_user(email="operator@example.org", is_staff=True, is_superuser=True))


def text(url: str) -> str:
    answer = client.get(url)
    assert answer.status_code == 200, (url, answer.status_code)
    return answer.content.decode()


def run_all() -> None:
    for entry in Entry.objects.filter(state="pending").order_by("id"):
        with suppress(TryAgain):
            runner.run(ENTRY, entry.id, "worker")


def states() -> list[str]:
    return list(Entry.objects.order_by("id").values_list("state", flat=True))


entries = [Entry.objects.create(code=REFUSED) for _ in range(4)]
run_all()
assert states() == ["dead"] * 4

# The list, the page of a row, the causes, one cause.
assert str(entries[0].id) in text("/admin/faults/entry/")
assert "It is done once it is replayed." in text(f"/admin/faults/entry/{entries[0].id}/change/")
assert f'href="{CAUSES}{CAUSE}/"' in text(CAUSES)
assert all(f"{LIST}{entry.id}/" in text(f"{CAUSES}{CAUSE}/") for entry in entries)
assert len(client.get(LIST, {"state": "dead"}).context["cl"].result_list) == 4

# The daily email and the command line.
operator_summary.send(timezone.now())
[message] = mail.outbox
assert "refused: It is done once it is replayed." in str(message.body)
assert CAUSES in str(message.body)
out = StringIO()
call_command("deadletters", "list", "--kind", "entry", stdout=out)
assert out.getvalue().startswith(CAUSE)

# One is tried, one marked as fixed, one discarded, and the last replayed at a rate.
client.post(f"{CAUSES}{CAUSE}/try/")
for action, entry in (("mark_fixed", entries[0]), ("discard", entries[1])):
    client.post(LIST, {"action": action, "_selected_action": str(entry.id), "confirmed": "1", "reason": "By hand."})
replayed = client.post(f"{CAUSES}{CAUSE}/replay/", {"per_minute": "60", "confirmed": "yes"}, follow=True)
assert "60 a minute" in replayed.content.decode()
run_all()
assert states() == ["cancelled", "cancelled", "done", "done"]
assert [one.effects.count() for one in entries] == [0, 0, 1, 1]
assert list(Intervention.objects.order_by("id").values_list("kind", "what")) == [
    ("entry", what) for what in ("tested", "fixed", "discarded", "replayed")
]
assert "By hand." in text(f"/admin/faults/entry/{entries[0].id}/change/")
assert "1 done." in text(f"/admin/work/intervention/{Intervention.objects.latest('id').pk}/change/")
