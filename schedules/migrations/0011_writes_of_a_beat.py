from importlib import import_module

from django.db import migrations

# The stock scheduler disables the row of a one-off once it has sent it, and one that has expired, by its own machine's
# clock: in the process of a beat (mirror.sign_as_beat), `enabled` is nobody's wish.
WATCH = """
CREATE OR REPLACE FUNCTION schedules_watch_mirror() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.enabled AND NOT OLD.enabled AND NEW.last_run_at IS DISTINCT FROM OLD.last_run_at THEN
        NEW.enabled := false;
    END IF;
    NEW.last_run_at := OLD.last_run_at;
    NEW.total_run_count := OLD.total_run_count;
    IF NEW.enabled IS DISTINCT FROM OLD.enabled AND current_setting('application_name') <> 'carillon beat' THEN
        INSERT INTO schedules_mirrorchange (task_id, enabled, at) VALUES (NEW.id, NEW.enabled, clock_timestamp());
    END IF;
    RETURN NEW;
END $$;
"""
_before = import_module("schedules.migrations.0006_watch_the_mirror").WATCH
BEFORE = _before[: _before.index("CREATE TRIGGER")].replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION")


class Migration(migrations.Migration):
    dependencies = [("schedules", "0010_list_in_order")]

    operations = [migrations.RunSQL(WATCH, BEFORE)]
