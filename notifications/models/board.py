"""Messages of a board: a channel that is a page of its account, on which people write, too."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from common.database.triggers import refuse_unreadable
from notifications.models.channel import Channel
from notifications.models.notification import Notification


class BoardMessage(models.Model):
    """Ids of a board grow in the order of their commits, because `boards.post` holds the board's lock.

    `author` is the name of the person or program that wrote it. What a delivery brought has none, but the delivery and
    its notification, which people answer and retention deletes: the text is here, too.
    """

    id: int
    board = models.ForeignKey(Channel, on_delete=models.CASCADE, related_name="board_messages", db_index=False)
    delivery_id = models.UUIDField(null=True, editable=False)
    notification = models.ForeignKey(
        Notification, models.DO_NOTHING, null=True, related_name="+", db_index=False, db_constraint=False
    )
    author = models.CharField(_("author"), max_length=150, blank=True)
    text = models.TextField()
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        verbose_name = _("message on a board")
        verbose_name_plural = _("messages on boards")
        ordering = ["-id"]
        indexes = [models.Index(fields=["board", "id"], name="boardmessage_of_board")]
        constraints = [
            models.UniqueConstraint(
                fields=["delivery_id"], condition=Q(delivery_id__isnull=False), name="boardmessage_once"
            )
        ]
        triggers = [refuse_unreadable("created_at")]

    def __str__(self) -> str:
        return f"{self.id} of {self.board_id}"
