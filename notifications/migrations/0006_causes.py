"""The cause of death of a delivery: a fingerprint of its provider, how it ended, the status and the normalised reason.

A trigger writes it, so that every verb that ends a delivery names the cause alike, and none pays for it that does not.
Ids, numbers, addresses and times are left out of the reason, save for the status that the service answered.
"""

from django.db import migrations, models

FORWARDS = r"""
CREATE FUNCTION notifications_cause(provider text, state text, reason text) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    said text := lower(reason);
    status text := coalesce(substring(said FROM '(?:answered|status|code|error|:)\s+([2-5]\d\d)(?!\w|\.\w)'), '');
BEGIN
    said := regexp_replace(said, '[a-z][a-z0-9+.-]*://\S+', ' ', 'g');                           -- addresses of pages
    said := regexp_replace(said, '\S+@\S+', ' ', 'g');                                           -- and of people
    said := regexp_replace(
        said, '((mon|tue|wed|thu|fri|sat|sun)[a-z]*,?\s+)?\d+\s+(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*',
        ' ', 'g');                                                                               -- days
    said := regexp_replace(said, '\S*\d\S*', ' ', 'g');                                          -- ids, numbers, times
    said := regexp_replace(said, '[[:alnum:]-]+(\.[[:alnum:]-]+)+', ' ', 'g');                   -- hosts
    said := regexp_replace(said, '\S{30,}', ' ', 'g');                                           -- tokens
    said := trim(regexp_replace(said, '[[:space:][:punct:]]+', ' ', 'g'));
    RETURN left(md5(concat_ws(chr(10), provider, state, status, said)), 12);
END $$;

CREATE FUNCTION notifications_name_cause() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.cause := notifications_cause(NEW.provider, NEW.state, NEW.reason);
    RETURN NEW;
END $$;

CREATE TRIGGER delivery_names_its_cause BEFORE UPDATE OF state, reason ON notifications_delivery
   FOR EACH ROW WHEN (NEW.state IN ('dead', 'unknown'))
   EXECUTE FUNCTION notifications_name_cause();
"""

BACKWARDS = """
DROP TRIGGER delivery_names_its_cause ON notifications_delivery;
DROP FUNCTION notifications_name_cause();
DROP FUNCTION notifications_cause(text, text, text);
"""


class Migration(migrations.Migration):
    dependencies = [("notifications", "0005_dead_letters")]
    operations = [
        migrations.AddField(
            model_name="delivery",
            name="cause",
            field=models.CharField(blank=True, db_default="", editable=False, max_length=12),
        ),
        migrations.AddIndex(
            model_name="delivery",
            index=models.Index(
                condition=models.Q(("state__in", ["dead", "unknown"])),
                fields=["cause", "settled_at"],
                name="delivery_cause",
            ),
        ),
        migrations.RunSQL(FORWARDS, BACKWARDS),
    ]
