"""`/api/v1/docs`: the reference, made from the OpenAPI document."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.test import Client

from api.protocol.problems import CODES
from api.reference import _prose
from api.v1 import api


@pytest.fixture
def page(client: Client) -> str:
    answer = client.get("/api/v1/docs")
    assert answer.status_code == 200
    return answer.content.decode()


def section(page: str, key: str) -> str:
    """One operation or document, without its markup."""
    found = re.search(rf'<section class="panel" id="{key}">(.*?)</section>', page, re.S)
    assert found, key
    return " ".join(re.sub(r"<[^>]+>", " ", found[1]).split())


def test_anybody_can_read_each_operation_and_each_document(page: str) -> None:
    document = api.get_openapi_schema()
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            said = operation["description"].replace("`", "")
            assert f"{method.upper()} {path} {said[:20]}" in section(page, operation["operationId"])
    for name in document["components"]["schemas"]:
        assert section(page, f"schema-{name}")


def test_every_link_leads_to_one_place(page: str) -> None:
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'href="#([^"]+)"', page)) <= set(ids)


def test_the_page_runs_nothing_that_its_policy_forbids(client: Client, page: str) -> None:
    assert not re.search(
        r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=|https?://(?!www.w3.org)[^\"' ]+\.(js|css)", page
    )
    assert "default-src 'none'" in client.get("/api/v1/docs")["Content-Security-Policy"]


def test_an_operation_names_its_parameters_its_body_its_answer_and_its_errors(page: str) -> None:
    text = section(page, "replace_schedule")
    for words in ("Body: ScheduleReplacement", "Answer: 200, ScheduleDocument", "If-Match", "412: It has changed"):
        assert words in text
    listed = section(page, "list_schedules")
    assert "active | paused | finished | broken" in listed
    assert "limit integer, 1 to 200, 50 without it" in listed


def test_a_field_names_its_limits(page: str) -> None:
    text = section(page, "schema-ScheduleBody")
    assert "title string, at most 200 characters, required" in text
    assert "grace integer, 0 to 604,800, 60 without it" in text
    assert "escalate_after integer or null, 1 to 10,080" in text


def test_markup_in_a_description_is_text() -> None:
    assert _prose("Send `If-Match` & <b>") == "Send <code>If-Match</code> &amp; &lt;b&gt;"


def test_each_code_of_a_problem_is_listed_where_its_type_leads(page: str) -> None:
    source = Path(__file__).parents[3]
    files = [*source.glob("api/**/*.py"), *source.glob("config/web/*.py")]
    used = {code for file in files for code in re.findall(r'Problem\(\s*\d{3},\s*"([a-z-]+)"', file.read_text())}
    assert len(used) > 20
    assert used <= CODES.keys()
    assert set(re.findall(r'id="problem-([a-z-]+)"', page)) == CODES.keys()
