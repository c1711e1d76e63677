"""Whether Carillon does anything by itself."""

from django.db import models
from django.db.models.functions import Now

# SQL, for statements that claim or fire; evaluated once a statement.
OFF = "EXISTS (SELECT FROM work_hold WHERE NOT is_on)"


class Hold(models.Model):
    """While it is on, nothing is claimed and no slot fires. One row; where it is missing, the hold is on.

    Backups leave it out, so a restored database is on hold. `changed_at`: when it was set or released; `restored_at`
    is when the data of `restored_to` was last restored, and `decision` what became of the work that was open then.
    """

    id = models.SmallAutoField(primary_key=True)
    is_on = models.BooleanField()
    changed_at = models.DateTimeField(db_default=Now())
    restored_at = models.DateTimeField(null=True)
    restored_to = models.DateTimeField(null=True)
    decision = models.CharField(max_length=4, db_default="")

    class Meta:
        constraints = [models.CheckConstraint(condition=models.Q(id=1), name="hold_once")]
