import pgtrigger.compiler
import pgtrigger.migrations
from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [
        ('work', '0004_hold'),
    ]

    operations = [
        pgtrigger.migrations.RemoveTrigger(
            model_name='intervention',
            name='intervention_kept',
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='intervention',
            trigger=pgtrigger.compiler.Trigger(name='intervention_kept', sql=pgtrigger.compiler.UpsertTriggerSql(condition="WHEN (OLD.at > now() - interval '30 days')", func="RAISE EXCEPTION 'An intervention is kept for a month at least.' USING ERRCODE = 'check_violation';", hash='7c1e97532428d6782d731e64b74cbc70b24d581c', operation='DELETE', pgid='pgtrigger_intervention_kept_b4ecd', table='work_intervention', when='BEFORE')),
        ),
    ]
