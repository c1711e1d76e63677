from django.db import migrations

# Whoever enables or disables a mirror row by whatever way (admin, queryset, SQL) is noticed here; our own statements say
# that they are ours (mirror.py). "Last run" and "run count" are what our records say: the stock scheduler writes its own
# idea of both from memory, minutes later. It also writes back an `enabled` that it has read before: a row that becomes
# enabled in a write of those two is such a write, not somebody's wish.
WATCH = """
CREATE FUNCTION schedules_watch_mirror() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.enabled AND NOT OLD.enabled AND NEW.last_run_at IS DISTINCT FROM OLD.last_run_at THEN
        NEW.enabled := false;
    END IF;
    NEW.last_run_at := OLD.last_run_at;
    NEW.total_run_count := OLD.total_run_count;
    IF NEW.enabled IS DISTINCT FROM OLD.enabled THEN
        INSERT INTO schedules_mirrorchange (task_id, enabled, at) VALUES (NEW.id, NEW.enabled, clock_timestamp());
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER schedules_watch_mirror BEFORE UPDATE ON django_celery_beat_periodictask FOR EACH ROW
    WHEN (OLD.task = 'schedules.fire' AND current_setting('carillon.mirror', true) IS DISTINCT FROM 'own')
    EXECUTE FUNCTION schedules_watch_mirror();
"""
UNWATCH = """
DROP TRIGGER schedules_watch_mirror ON django_celery_beat_periodictask;
DROP FUNCTION schedules_watch_mirror();
"""

# The stock entries among a million mirror rows, and the timings that rows share: each is looked up at every edit.
INDEXES = {
    "schedules_stock_entries": "django_celery_beat_periodictask (id) WHERE enabled AND task <> 'schedules.fire'",
    "schedules_clocked": "django_celery_beat_clockedschedule (clocked_time)",
    "schedules_crontab": "django_celery_beat_crontabschedule (hour, minute, timezone)",
}


class Migration(migrations.Migration):
    dependencies = [
        ("schedules", "0005_mirror_changes"),
        ("django_celery_beat", "0019_alter_periodictasks_options"),
    ]

    operations = [
        migrations.RunSQL(WATCH, UNWATCH),
        *(
            migrations.RunSQL(f"CREATE INDEX {name} ON {columns}", f"DROP INDEX {name}")
            for name, columns in INDEXES.items()
        ),
    ]
