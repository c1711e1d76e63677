"""Facts that an installation stores about itself."""

from django.db import models
from django.utils.translation import gettext_lazy as _


class KeyCheck(models.Model):
    """A known text, sealed: whoever cannot read it has none of the keys that sealed the secrets here. One row."""

    id = models.SmallAutoField(primary_key=True)
    sealed = models.TextField()

    class Meta:
        verbose_name = _("key check")
        verbose_name_plural = _("key checks")
        constraints = [models.CheckConstraint(condition=models.Q(id=1), name="key_check_once")]
