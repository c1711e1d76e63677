"""Jobs as rows, what the jobs of one reminder keep from check to check, and answers that are kept for all."""

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from common.database.triggers import refuse_unreadable
from common.uuid7 import uuid7
from jobs.models.connection import Connection
from work.models import DEAD_LETTERS, Attempt, Chained, Words, Work

WORDS = Words(working="looking", done="decided", key="job")


class OnError(models.TextChoices):
    """The person's choice for a check that failed with no try left."""

    DAILY = "daily", _("Stay silent, and tell me once a day")
    AFTER = "after", _("Tell me after several failures in a row")
    SEND = "send", _("Send it anyway")


class Job(Chained, Work):
    """A check of something, for one person, that ends with one decision: to speak or to stay silent.

    `batch_id` is the id of its cause (an occurrence), unique with the person: one decision a slot. `origin_id` is the
    id of its reminder. `message` is how its notification will be sent if it speaks, as its reminder had it when it
    was due; see `recording`. Once decided, the reason is the evidence, and `notification_id` what was said, if
    anything. `failures_noted` is above `replays` once its failure has been noted, see `deciding`.

    `preview` is of one that a person asked for by “Check now”: it sends nothing, and what it would have said is written
    there; see `check_now`.
    """

    words = WORDS

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="jobs", db_index=False)
    kind = models.CharField(_("kind"), max_length=40)
    queue = models.CharField(max_length=64, db_default="jobs", editable=False)
    payload = models.JSONField(default=dict)
    connection = models.ForeignKey(
        Connection, on_delete=models.SET_NULL, null=True, blank=True, related_name="jobs", db_index=True
    )
    batch_id = models.UUIDField(default=uuid7, editable=False)
    correlation_id = models.UUIDField(null=True, editable=False)
    origin_id = models.UUIDField(null=True, blank=True, editable=False)
    slot = models.DateTimeField()
    message = models.JSONField(default=dict)
    on_error = models.CharField(max_length=8, choices=OnError.choices, default=OnError.DAILY)
    # With AFTER: how many failures in a row.
    errors_allowed = models.PositiveSmallIntegerField(default=3)
    notification_id = models.UUIDField(null=True, editable=False)
    preview = models.JSONField(null=True, editable=False)
    failures_noted = models.PositiveSmallIntegerField(db_default=0, editable=False)

    class Meta(Work.Meta):
        verbose_name = _("job")
        verbose_name_plural = _("jobs")
        indexes = [
            *WORDS.indexes(),
            models.Index(fields=["user", "-id"], name="job_of_person"),
            # rescue: what failed without its worker
            models.Index(
                fields=["settled_at"],
                condition=(Q(state__in=DEAD_LETTERS) | Q(state="expired", tries__gt=0))
                & Q(failures_noted__lte=F("replays")),
                name="job_failure_to_note",
            ),
            models.Index(fields=["origin_id", "-id"], condition=Q(origin_id__isnull=False), name="job_of_origin"),
            # the trace of its chain
            models.Index(fields=["correlation_id"], condition=Q(correlation_id__isnull=False), name="job_of_chain"),
        ]
        constraints = [
            *WORDS.constraints(),
            models.UniqueConstraint(fields=["batch_id", "user"], name="job_once_per_person"),
        ]
        triggers = WORDS.triggers("slot", json=["payload", "message", "preview"])

    def __str__(self) -> str:
        return self.kind


class DeadLetter(Job):
    """A job that is a dead letter, with its own list and permissions in the admin."""

    class Meta:
        proxy = True
        verbose_name = _("dead letter")


class JobAttempt(Attempt):
    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="history", db_index=False)

    class Meta(Attempt.Meta):
        constraints = WORDS.attempt_constraints()
        triggers = WORDS.attempt_triggers()


class Memory(models.Model):
    """The memory of the jobs of one reminder for one person: what they last found, and how they have failed since.

    `version` grows with every change, so that of two jobs at once one starts again. `told_at`: when the person was
    last told that it fails, None while it works.
    """

    origin_id = models.UUIDField(editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    state = models.JSONField(null=True)
    version = models.PositiveIntegerField(_("version"), default=1)
    failures = models.PositiveIntegerField(default=0)
    failing_since = models.DateTimeField(null=True)
    told_at = models.DateTimeField(null=True)
    changed_at = models.DateTimeField(db_default=Now())

    class Meta:
        verbose_name_plural = "memories"
        constraints = [models.UniqueConstraint(fields=["origin_id", "user"], name="memory_once")]
        triggers = [refuse_unreadable("failing_since", "told_at", "changed_at", json=["state"])]


class Result(models.Model):
    """A source's answer to a question. `key` is a digest of the kind, the connection and the question.

    `etag` and `modified` are what the source wants to hear to say that nothing has changed.
    """

    key = models.CharField(max_length=64, primary_key=True)
    value = models.JSONField(null=True)
    etag = models.CharField(max_length=500, blank=True)
    modified = models.CharField(max_length=100, blank=True)
    fetched_at = models.DateTimeField(db_default=Now())

    class Meta:
        indexes = [models.Index(fields=["fetched_at"], name="result_fetched")]
