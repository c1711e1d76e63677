"""The edges of a delivery, written so that PostgreSQL reads them quickly.

A trigger's WHEN clause is read anew, from the text of its tree, for each statement that may fire it. Eleven pairs of
states are a tree of a hundred nodes, and cost each claim and each settling 0.1 ms; one list of texts is one constant.
"""

from django.db import migrations

_TRIGGER = """
DROP TRIGGER delivery_moves_along_edges ON notifications_delivery;
CREATE TRIGGER delivery_moves_along_edges BEFORE UPDATE OF state ON notifications_delivery
   FOR EACH ROW WHEN (OLD.state <> NEW.state AND {})
   EXECUTE FUNCTION notifications_refuse_delivery();
"""

_EDGES = [
    ("pending", "sending"),
    ("sending", "delivered"),
    ("sending", "pending"),
    ("sending", "dead"),
    ("sending", "unknown"),
    ("pending", "cancelled"),
    ("pending", "expired"),
    ("dead", "pending"),
    ("unknown", "pending"),
    ("dead", "cancelled"),
    ("unknown", "cancelled"),
]
_TEXTS = ", ".join(f"'{before}>{after}'" for before, after in _EDGES)
_PAIRS = ", ".join(f"('{before}', '{after}')" for before, after in _EDGES)

FORWARDS = _TRIGGER.format(f"OLD.state || '>' || NEW.state NOT IN ({_TEXTS})")
BACKWARDS = _TRIGGER.format(f"(OLD.state, NEW.state) NOT IN ({_PAIRS})")


class Migration(migrations.Migration):
    dependencies = [("notifications", "0011_unsubscribed")]
    operations = [migrations.RunSQL(FORWARDS, BACKWARDS)]
