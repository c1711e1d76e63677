"""The documentation names only files and tests that exist, and leads only to sections that do."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest
from django.conf import settings

from people.tokens import SCOPES

CHECKOUT = Path(__file__).parents[2]
PAGES = [*(CHECKOUT / "docs").glob("*.md"), CHECKOUT / "README.md"]
# The examples of docs/adding-a-provider.md and docs/adding-a-job-kind.md, which their readers write.
EXAMPLES = {
    "aio.py",  # written when the client is built
    "jobs/kinds/tides.py",
    "notifications/providers/pigeon.py",
    "tests/unit/notifications/providers/test_pigeon.py",
}
FOLDERS = (
    "api|bench|client|common|config|counters|demo|events|jobs|live|locks|notifications|people|schedules|script|static|templates|tests|"
    "watches|work"
)


def test_every_file_that_the_documentation_names_exists() -> None:
    pattern = rf"(?<![\w./-])(?:{FOLDERS})/[\w./]+"
    named = {path.rstrip("/.") for page in PAGES for path in re.findall(pattern, page.read_text())}
    assert len(named) > 60
    assert {path for path in named - EXAMPLES if not (CHECKOUT / path).exists()} == set()


def test_operating_names_every_command_of_an_installation() -> None:
    commands = {path.stem for path in CHECKOUT.glob("*/management/commands/[a-z]*.py")}
    assert len(commands) > 8
    page = (CHECKOUT / "docs" / "operating.md").read_text()
    developers = {"makemessages", "makemigrations"}
    assert {name for name in commands - developers if not re.search(rf"`{name}\b", page)} == set()


def test_every_test_and_module_that_a_page_names_in_short_exists() -> None:
    """`test_sign_in.py` stands beside the test that the same line names before it; other names end a path."""
    files = {path.as_posix() for folder in FOLDERS.split("|") for path in (CHECKOUT / folder).rglob("*.py")}
    missing = set()
    for page in PAGES:
        for line in page.read_text().splitlines():
            folder = ""
            for name in re.findall(r"`([\w./-]+\.py)`", line):
                if name.startswith("tests/"):
                    folder = name.rpartition("/")[0]
                near = not name.startswith("test_") or not folder or (CHECKOUT / folder / name).exists()
                if not near or not any(file.endswith(f"/{name}") for file in files):
                    missing.add((page.name, name))
    assert {(page, name) for page, name in missing if name not in EXAMPLES} == set()


def test_every_link_between_pages_leads_to_a_section() -> None:
    broken = []
    for page in PAGES:
        for path, section in re.findall(r"\]\(([\w./-]*\.md)?#([\w-]+)\)", page.read_text()):
            heads = re.findall(r"^#+ (.+)$", (page.parent / path if path else page).read_text(), re.MULTILINE)
            anchors = {re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads}
            if section not in anchors:
                broken.append((page.name, path, section))
    assert broken == []


def test_the_api_document_has_each_scope_in_the_words_of_its_page() -> None:
    page = (CHECKOUT / "docs/api.md").read_text()
    assert re.findall(r"^\| (.+) \| `([a-z-]+)` \|$", page, re.MULTILINE) == [(str(SCOPES[one]), one) for one in SCOPES]


def test_each_verb_of_a_delivery_is_a_function() -> None:
    page = (CHECKOUT / "docs/life-of-a-delivery.md").read_text()
    rows = re.findall(r"^\| [A-J](?:, [A-J])? \|.*\| (.+) \|$", page, re.MULTILINE)
    verbs = {name.rpartition(".")[2] for row in rows for name in re.findall(r"`([a-z_.]+)`", row)}
    folders = ("work/engine", "notifications/deliveries", "jobs/batches")
    source = "".join(path.read_text() for folder in folders for path in (CHECKOUT / folder).glob("*.py"))
    assert len(verbs) > 10
    assert {verb for verb in verbs if f"def {verb}(" not in source} == set()


# What `What one person may cost` in docs/security.md says of a constant; its figure stands for {}.
FIGURES = [
    ("locks.leases", "MOST", "10 with 50 members each; 1,000, {};"),
    ("notifications.deliveries.boards", "STORED", "a board has {} |"),
    ("notifications.inputs.channels_form", "MOST_CHOSEN", "a reminder or a rule | {}"),
    ("api.protocol.fields", "LARGEST_DATA", "data of a message {} KiB"),
    ("api.protocol.paging", "LARGEST", "{} rows a page"),
    ("api.resources.queues", "LARGEST_BATCH", "{} messages of a queue"),
    ("api.resources.queues", "MOST_LEASES", "{} may be leased"),
    ("common.forms.json_file", "MOST", "{} reminders"),
    ("api.resources.transfer.load", "MOST_TROUBLES", "{} faults"),
    ("api.resources.transfer.load", "_SECONDS", "{} s of computing"),
    ("common.forms.json_file", "LARGEST", "{} MiB"),
    ("api.v1", "LARGEST", "of a call of the API {} KiB"),
    ("common.parsing.pool", "MEGABYTES", "{} MB"),
    ("common.parsing.pool", "SECONDS", "{} s of CPU"),
    ("common.redis.request_slots", "AT_ONCE", "Changes at once | {};"),
    ("config.web.request_head", "ARRIVES_WITHIN", "of head in {} s"),
    ("config.web.request_head", "MOST", "{} KiB of head"),
    ("counters.totals", "MOST", "counters, names of locks | 200, 200, 10 with 50 members each; {},"),
    ("events.inbound.addresses", "MOST", "{} inbound addresses"),
    ("events.inbound.body", "MOST_ELEMENTS", "{} elements"),
    ("events.inbound.body", "MOST_FIELDS", "{} fields"),
    ("events.inbound.receive", "MOST_REQUESTS", "| {}, with"),
    ("events.inbound.receive", "MOST_BYTES", "{} MiB of bodies"),
    ("events.inbound.mapping", "MOST_ALERTS", "{} alerts"),
    ("events.inputs.conditions_field", "MOST_CONDITIONS", "{} conditions"),
    ("events.kinds.event", "AT_ONCE", "{} of its 16 connections"),
    ("events.pure.envelope", "LARGEST_COPY", "{} KiB | `events/pure/envelope.py`"),
    ("events.pure.envelope", "LARGEST_DATA", "{} KiB of data"),
    ("events.pure.envelope", "MOST_AT_ONCE", "{} events in one call"),
    ("config.settings", "MOST_HOPS", "{} hops"),
    ("events.pure.matching", "LONGEST_VALUE", "{} characters of each value"),
    ("events.pure.matching", "_MOST_COMPARED", "{} compared values"),
    ("events.web.inbound", "LARGEST", "{} KiB, 100 alerts"),
    ("jobs.changes.connections", "CHECKS_A_MINUTE", "Checks of a connection | {} a minute"),
    ("jobs.checks.limits", "OF_A_PERSON", "Checks at once | {},"),
    ("jobs.checks.check_now", "A_MINUTE", "Check now | {} a minute"),
    ("jobs.checks.steps", "DECISION", "The decision of a job | {} s of CPU"),
    ("jobs.reading.fetch", "MOST_BYTES", "reads | {} MB"),
    ("notifications.messages.text", "MAX_BODY", "what is sent ({})"),
    ("notifications.messages.text", "MAX_PLACEHOLDERS", "{} placeholders"),
    ("notifications.net.address_checks", "AT_ONCE", "{} at once; 20 a minute"),
    ("notifications.net.address_checks", "A_MINUTE", "{} a minute at one host"),
    ("notifications.net.deadline", "MAX_LOOKUPS", "of its {} "),
    ("notifications.net.deadline", "MAX_OF_PERSON", "{} of its"),
    ("people.sign_in.mailboxes", "MAILS_A_DAY", "{} a day of each purpose"),
    ("people.sign_in.security_log", "MOST_OF_SOURCE", "{} a minute of one source"),
    ("people.sign_in.security_log", "MOST_OF_STRANGERS", "{} of all strangers"),
    ("people.tokens", "MOST", "{} tokens"),
    ("people.web.account_views", "_DOWNLOADS_AN_HOUR", "{} an hour"),
    ("people.web.factor_forms", "MOST_KEYS", "{} security keys"),
    ("schedules.agenda.coming", "MOST", "{} reminders, 1,000 entries"),
    ("schedules.agenda.feed", "MOST", "{} entries"),
    ("schedules.firing.holidays", "MOST", "{} holidays"),
    ("schedules.firing.misfire", "MOST_SENT", "at most {} messages at once"),
    ("schedules.inputs.list_fields", "MOST_DATES", "{} dates left out"),
    ("schedules.inputs.imports.items", "LARGEST", "Of another program {} MiB"),
    ("schedules.inputs.imports.items", "MOST", "{} entries and"),
    ("schedules.job_kinds.report_queries", "MOST_COUNTED", "{} failures"),
    ("schedules.job_kinds.report_queries", "MOST_OF_ALL", "{} messages"),
    ("schedules.parts.tags", "MOST", "{} tags"),
    ("schedules.rules.invalid", "BUDGET", "{} units of work"),
    ("schedules.rules.rrule_text", "LONGEST", "{} characters; at most"),
    ("watches.pings", "MOST_PINGS", "of which {} are stored"),
    ("watches.status_pages.status", "MOST_PAGES", "{} status pages"),
    ("watches.status_pages.subscribers", "MOST", "{} subscribers each"),
    ("work.broker.fair_queue", "FEW", "{} pieces"),
]
SIZES = {"KiB": 1024, "MiB": 1024**2}


@pytest.fixture(scope="module")
def costs() -> str:
    page = (CHECKOUT / "docs/security.md").read_text()
    return page.partition("## What one person may cost")[2].partition("\n## ")[0]


@pytest.mark.parametrize(("module", "name", "said"), FIGURES)
def test_what_one_person_may_cost_has_the_figures_of_the_code(costs: str, module: str, name: str, said: str) -> None:
    value = getattr(import_module(module), name)
    unit = next((size for word, size in SIZES.items() if f"{{}} {word}" in said), 1)
    value = value // 1024**2 if name == "MOST_BYTES" else int(value // unit)
    assert said.format(f"{value:,}") in costs


def test_what_one_person_may_cost_has_the_defaults_of_the_settings(costs: str) -> None:
    rows = [settings.MOST_SCHEDULES, settings.MOST_RULES, settings.MOST_CHANNELS, settings.MOST_CONNECTIONS]
    assert ", ".join(map(str, [*rows, settings.MOST_TOPICS])) in costs
    assert f"{settings.MOST_ADDED:,} addresses added" in costs
    watches, teams, members = settings.MOST_WATCHES, settings.MOST_TEAMS, settings.MOST_MEMBERS
    assert f"| {watches}, {watches}, {teams} with {members} members" in costs
    assert f"{settings.PINGS_PER_MINUTE} pings of a watch a minute" in costs
    assert f"{settings.ACCOUNT_MAX_EMAIL_ADDRESSES} email addresses" in costs
