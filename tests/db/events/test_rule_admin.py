"""An operator edits a person's rule: with the owner's channels and the same checks."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission
from django.db.models.functions import Now
from django.http import QueryDict
from django.test import Client

from events.models import Rule
from people.models import User
from tests.make import make_channel, make_rule, make_user


def edit_page(rule: Rule) -> str:
    return f"/admin/events/rule/{rule.pk}/edit/"


def filled(answer: Any, **overrides: Any) -> dict[str, Any]:
    """What the shown form would send, unchanged but for `overrides`."""
    form = answer.context["form"]
    sent: dict[str, Any] = {"channels": form["channels"].value()}
    for field in form:
        value = field.value()
        if field.name in ("throttle_seconds", "digest_seconds"):
            number, unit = value if isinstance(value, list) else field.field.widget.decompress(value)
            sent |= {f"{field.name}_0": "" if number is None else number, f"{field.name}_1": unit}
        elif field.name != "conditions" and value not in (None, False):
            sent[field.html_name] = value
    for part in ("field", "operator", "value"):
        sent[f"conditions_{part}"] = [row.values.get(part, "") for row in form.condition_rows()]
    return sent | overrides


def test_an_edit_keeps_what_was_not_changed_and_says_who_made_it(operator: Client, ada: User) -> None:
    rule = make_rule(ada, throttle_count=3, throttle_seconds=7200)
    assert f'href="{edit_page(rule)}"' in operator.get(f"/admin/events/rule/{rule.pk}/change/").content.decode()
    answer = operator.get(edit_page(rule))
    changed = {"title": "Paid", "urgent": "on", "digest_seconds_0": "2", "digest_seconds_1": "60"}
    assert operator.post(edit_page(rule), filled(answer, **changed)).status_code == 302
    after = Rule.objects.get()
    assert (after.title, after.urgent, after.digest_seconds, after.version) == ("Paid", True, 120, 2)
    assert after.conditions == [{"field": "data.amount", "operator": "above", "value": 100}]
    assert (after.body, after.throttle_seconds) == (rule.body, 7200)
    assert list(after.channels.all()) == list(rule.channels.all())
    entry = LogEntry.objects.get(object_id=str(rule.pk))
    assert entry.user.email == "operator@example.org"


def test_conditions_and_the_order_of_channels_are_changed(operator: Client, ada: User) -> None:
    rule, second = make_rule(ada), make_channel(ada, "telegram")
    [first] = rule.channels.all()
    sent = filled(
        operator.get(edit_page(rule)),
        conditions_field=["data.amount", "data.vip"],
        conditions_operator=["below", "exists"],
        conditions_value=["7", ""],
        channels=[str(first.id), str(second.id)],
        one_by_one="order",
        **{f"position_{second.id.hex}": "1"},
    )
    assert operator.post(edit_page(rule), sent).status_code == 302
    after = Rule.objects.get()
    assert [(one["field"], one["operator"], one["value"]) for one in after.conditions] == [
        ("data.amount", "below", "7"),
        ("data.vip", "exists", ""),
    ]
    assert after.channel_order == [second.id, first.id]


@pytest.mark.parametrize(("button", "fields"), [({"add_condition": ""}, 3), ({"remove_condition": "0"}, 1)])
def test_rows_of_conditions_are_added_and_removed_without_saving(
    operator: Client, ada: User, button: dict[str, str], fields: int
) -> None:
    rule = make_rule(ada)
    sent = filled(operator.get(edit_page(rule)), title="Typed", conditions_field=["data.amount", "data.vip"]) | button
    answer = operator.post(edit_page(rule), sent)
    assert answer.status_code == 200
    form = answer.context["form"]
    assert (len(form.condition_rows()), form["title"].value()) == (fields + (button != {"add_condition": ""}), "Typed")
    assert Rule.objects.get().version == 1


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"name": ""}, "name"),
        ({"title": "{colour}"}, "title"),
        ({"type_pattern": "Order"}, "type_pattern"),
        ({"conditions_field": ["amount"]}, "conditions"),
        ({"channels": []}, "channels"),
        ({"throttle_count": "3"}, "throttle_seconds"),
        ({"digest_count": "5"}, "digest_count"),
    ],
)
def test_what_the_owner_may_not_save_an_operator_may_not_either(
    operator: Client, ada: User, wrong: dict[str, Any], field: str
) -> None:
    rule = make_rule(ada)
    answer = operator.post(edit_page(rule), filled(operator.get(edit_page(rule)), **wrong))
    assert (answer.status_code, list(answer.context["form"].errors)) == (200, [field])
    assert "border" in answer.context["form"]["title"].field.widget.attrs["class"]  # the admin's style
    assert Rule.objects.get().version == 1


def test_a_rule_never_gets_the_channel_of_somebody_else(operator: Client, ada: User) -> None:
    rule, other = make_rule(ada), make_channel(make_user())
    sent = filled(operator.get(edit_page(rule)), channels=[str(other.pk)])
    assert "channels" in operator.post(edit_page(rule), sent).context["form"].errors


def test_of_two_editors_the_second_sees_both_versions_and_may_save_over_it(operator: Client, ada: User) -> None:
    rule = make_rule(ada)
    sent = filled(operator.get(edit_page(rule)), name="Mine")
    Rule.objects.filter(pk=rule.pk).update(name="Theirs", version=2)
    answer = operator.post(edit_page(rule), sent)
    assert answer.status_code == 409
    assert ("Name", "Theirs", "Mine") in answer.context["differences"]
    assert Rule.objects.get().name == "Theirs"
    assert operator.post(edit_page(rule), filled(answer)).status_code == 302
    assert Rule.objects.get().name == "Mine"


def test_a_deleted_rule_is_not_edited(operator: Client, ada: User) -> None:
    rule = make_rule(ada)
    sent = filled(operator.get(edit_page(rule)), name="Mine")
    Rule.objects.filter(pk=rule.pk).update(deleted_at=Now())
    assert operator.get(edit_page(rule)).status_code == 302
    assert operator.post(edit_page(rule), sent).status_code == 302
    assert Rule.objects.get().name == "Big orders"


def test_a_rule_with_damaged_conditions_is_mended(operator: Client, ada: User) -> None:
    rule = make_rule(ada, conditions=[5, {"nonsense": 1}])
    sent = filled(operator.get(edit_page(rule)), conditions_field=[], conditions_operator=[], conditions_value=[])
    assert operator.post(edit_page(rule), sent).status_code == 302
    assert Rule.objects.get().conditions == []


def test_texts_of_a_rule_are_data(operator: Client, ada: User) -> None:
    condition = {"field": "data.x", "operator": "equals", "value": "<i>"}
    rule = make_rule(ada, name="<b>x</b>", conditions=[condition])
    page = operator.get(edit_page(rule)).content.decode()
    assert "<b>x</b>" not in page and 'value="<i>"' not in page


@pytest.mark.parametrize(("permission", "status"), [("view", 403), ("change", 200)])
def test_the_page_wants_the_permission_to_change(client: Client, ada: User, permission: str, status: int) -> None:
    staff = make_user(is_staff=True)
    staff.user_permissions.set(Permission.objects.filter(codename=f"{permission}_rule"))
    client.force_login(staff)
    assert client.get(edit_page(make_rule(ada))).status_code == status


def test_staff_do_not_edit_a_rule_of_somebody_with_more_rights(client: Client) -> None:
    staff, chief = make_user(is_staff=True), make_user(is_staff=True, is_superuser=True)
    staff.user_permissions.set(Permission.objects.filter(content_type__model="rule"))
    client.force_login(staff)
    rule = make_rule(chief)
    assert client.get(edit_page(rule)).status_code == 403
    assert client.post(edit_page(rule), QueryDict("name=x&version=1").dict()).status_code == 403
    assert client.get(edit_page(rule).replace("/edit", "%20/edit")).status_code == 404
    assert Rule.objects.get().version == 1


@pytest.mark.parametrize("key", ["x", "01890a5d-ac96-774b-bcce-b302099a8057"])
def test_a_rule_that_there_is_not_is_not_found(operator: Client, key: str) -> None:
    assert operator.get(f"/admin/events/rule/{key}/edit/").status_code == 404
