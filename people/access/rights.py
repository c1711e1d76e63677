"""Rights of staff to see everybody's data, checked at each view: staff alone may see nothing."""

from people.models import User

OF_EVERYBODY = (
    "notifications.view_channel",
    "notifications.view_delivery",
    "notifications.view_notification",
    "schedules.view_schedule",
)
"""The permissions for changes and reports over all accounts."""


def sees_everybody(user: User) -> bool:
    return user.is_active and user.is_staff and user.has_perms(OF_EVERYBODY)


SEES_EVERYBODY = f"""(p.is_active AND p.is_staff AND (p.is_superuser OR {len(OF_EVERYBODY)} = (
    SELECT count(DISTINCT a.id) FROM auth_permission a JOIN django_content_type t ON t.id = a.content_type_id
     WHERE t.app_label || '.' || a.codename IN ({", ".join(f"'{one}'" for one in OF_EVERYBODY)})
       AND (EXISTS (SELECT FROM people_user_user_permissions o WHERE o.user_id = p.id AND o.permission_id = a.id)
            OR EXISTS (SELECT FROM people_user_groups m JOIN auth_group_permissions g ON g.group_id = m.group_id
                        WHERE m.user_id = p.id AND g.permission_id = a.id)))))"""  # noqa: S608 - constants only
"""`sees_everybody` in SQL, of a row `p` of people_user."""
