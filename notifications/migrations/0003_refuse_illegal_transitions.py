"""Triggers: no delivery moves but along an edge of docs/life-of-a-delivery.md, and an attempt is closed once.

The conditions stand in WHEN clauses, which the executor evaluates itself, so that a legal change never calls a
function: claiming and settling pay under one per cent for being guarded. A bulk load of old rows (a data-only restore)
sets `session_replication_role = replica`, as it does for foreign keys.
"""

from django.db import migrations

FORWARDS = """
CREATE FUNCTION notifications_refuse_delivery() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        RAISE EXCEPTION 'A delivery begins as pending, not as %.', NEW.state USING ERRCODE = 'check_violation';
    ELSIF NEW.state <> OLD.state THEN
        RAISE EXCEPTION 'A delivery does not go from % to %.', OLD.state, NEW.state
            USING ERRCODE = 'check_violation', HINT = 'See docs/life-of-a-delivery.md.';
    END IF;
    RAISE EXCEPTION 'The tries and replays of a delivery only grow.' USING ERRCODE = 'check_violation';
END $$;

CREATE TRIGGER delivery_begins_pending BEFORE INSERT ON notifications_delivery
   FOR EACH ROW WHEN (NEW.state <> 'pending')
   EXECUTE FUNCTION notifications_refuse_delivery();

CREATE TRIGGER delivery_moves_along_edges BEFORE UPDATE OF state ON notifications_delivery
   FOR EACH ROW WHEN (
       OLD.state <> NEW.state AND (OLD.state, NEW.state) NOT IN (
           ('pending', 'sending'),
           ('sending', 'delivered'),
           ('sending', 'pending'),
           ('sending', 'dead'),
           ('sending', 'unknown'),
           ('pending', 'cancelled'),
           ('pending', 'expired'),
           ('dead', 'pending'),
           ('unknown', 'pending'),
           ('dead', 'cancelled'),
           ('unknown', 'cancelled')
       )
   )
   EXECUTE FUNCTION notifications_refuse_delivery();

-- An attempt's number is tries + released: were it to fall, the next claim would meet an attempt of that number.
CREATE TRIGGER delivery_counts_grow BEFORE UPDATE OF tries, released, replays ON notifications_delivery
   FOR EACH ROW WHEN (
       NEW.replays < OLD.replays
       OR (NEW.replays = OLD.replays AND NEW.tries + NEW.released < OLD.tries + OLD.released)
   )
   EXECUTE FUNCTION notifications_refuse_delivery();

CREATE FUNCTION notifications_refuse_attempt() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        IF EXISTS (SELECT FROM notifications_delivery WHERE id = OLD.delivery_id) THEN
            RAISE EXCEPTION 'An attempt is kept for as long as its delivery.' USING ERRCODE = 'check_violation';
        END IF;
        RETURN NULL;
    END IF;
    RAISE EXCEPTION 'An attempt is closed once, and nothing else of it changes.' USING ERRCODE = 'check_violation';
END $$;

CREATE TRIGGER attempt_closed_once BEFORE UPDATE ON notifications_attempt
   FOR EACH ROW WHEN (
       OLD.finished_at IS NOT NULL
       OR NEW.finished_at IS NULL
       OR (NEW.id, NEW.delivery_id, NEW.replay, NEW.number, NEW.token, NEW.worker, NEW.started_at)
          IS DISTINCT FROM
          (OLD.id, OLD.delivery_id, OLD.replay, OLD.number, OLD.token, OLD.worker, OLD.started_at)
   )
   EXECUTE FUNCTION notifications_refuse_attempt();

-- Deferred: whoever deletes a delivery deletes its attempts first.
CREATE CONSTRAINT TRIGGER attempt_kept AFTER DELETE ON notifications_attempt
   DEFERRABLE INITIALLY DEFERRED
   FOR EACH ROW EXECUTE FUNCTION notifications_refuse_attempt();
"""

BACKWARDS = """
DROP TRIGGER attempt_kept ON notifications_attempt;
DROP TRIGGER attempt_closed_once ON notifications_attempt;
DROP TRIGGER delivery_counts_grow ON notifications_delivery;
DROP TRIGGER delivery_moves_along_edges ON notifications_delivery;
DROP TRIGGER delivery_begins_pending ON notifications_delivery;
DROP FUNCTION notifications_refuse_attempt();
DROP FUNCTION notifications_refuse_delivery();
"""


class Migration(migrations.Migration):
    dependencies = [("notifications", "0002_count_what_was_released")]
    operations = [migrations.RunSQL(FORWARDS, BACKWARDS)]
