"""What people did to dead letters, kept for good: a trigger lets rows be added, and an account be forgotten."""

import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models

FORWARDS = """
CREATE FUNCTION notifications_refuse_intervention() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'What people did is kept as it was.' USING ERRCODE = 'check_violation';
END $$;

CREATE TRIGGER intervention_never_changes BEFORE UPDATE ON notifications_intervention
   FOR EACH ROW WHEN (
       NEW.by_id IS NOT NULL
       OR (NEW.id, NEW.at, NEW.who, NEW.what, NEW.which, NEW.cause, NEW.count, NEW.per_minute, NEW.reason)
          IS DISTINCT FROM
          (OLD.id, OLD.at, OLD.who, OLD.what, OLD.which, OLD.cause, OLD.count, OLD.per_minute, OLD.reason)
   )
   EXECUTE FUNCTION notifications_refuse_intervention();

CREATE TRIGGER intervention_kept BEFORE DELETE ON notifications_intervention
   FOR EACH ROW EXECUTE FUNCTION notifications_refuse_intervention();
"""

BACKWARDS = """
DROP TRIGGER intervention_kept ON notifications_intervention;
DROP TRIGGER intervention_never_changes ON notifications_intervention;
DROP FUNCTION notifications_refuse_intervention();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("notifications", "0007_name_old_causes"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]
    operations = [
        migrations.CreateModel(
            name="Intervention",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ("who", models.CharField(max_length=254)),
                (
                    "what",
                    models.CharField(
                        choices=[
                            ("replayed", "replayed"),
                            ("tested", "replayed one to test"),
                            ("discarded", "discarded"),
                        ],
                        max_length=9,
                    ),
                ),
                ("which", models.CharField(max_length=500)),
                ("cause", models.CharField(blank=True, max_length=12)),
                ("count", models.PositiveIntegerField()),
                ("per_minute", models.PositiveIntegerField(blank=True, null=True)),
                ("reason", models.CharField(blank=True, max_length=300)),
                (
                    "by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "deliveries",
                    models.ManyToManyField(editable=False, related_name="interventions", to="notifications.delivery"),
                ),
            ],
            options={"ordering": ["-id"]},
        ),
        migrations.AddIndex(
            model_name="intervention",
            index=models.Index(
                condition=models.Q(("cause", ""), _negated=True),
                fields=["cause", "-id"],
                name="intervention_of_cause",
            ),
        ),
        migrations.RunSQL(FORWARDS, BACKWARDS),
    ]
