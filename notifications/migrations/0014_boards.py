import django.db.models.deletion
import django.db.models.functions.datetime
import pgtrigger.compiler
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('notifications', '0013_nag_indexes'),
    ]

    operations = [
        migrations.CreateModel(
            name='BoardMessage',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('delivery_id', models.UUIDField(editable=False, null=True)),
                ('author', models.CharField(blank=True, max_length=150, verbose_name='author')),
                ('text', models.TextField()),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('board', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='board_messages', to='notifications.channel')),
                ('notification', models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='notifications.notification')),
            ],
            options={
                'verbose_name': 'message on a board',
                'verbose_name_plural': 'messages on boards',
                'ordering': ['-id'],
                'indexes': [models.Index(fields=['board', 'id'], name='boardmessage_of_board')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('delivery_id__isnull', False)), fields=('delivery_id',), name='boardmessage_once')],
                'triggers': [pgtrigger.compiler.Trigger(name='readable', sql=pgtrigger.compiler.UpsertTriggerSql(condition="WHEN (NEW.created_at NOT BETWEEN '0002-01-01Z' AND '9999-01-01Z')", func="RAISE EXCEPTION 'Carillon could not read this row.' USING ERRCODE = 'check_violation', HINT = 'See Damaged rows in docs/reliability.md.';", hash='c715e2f087ebbae0245188a4ac1be6eab4923277', operation='INSERT OR UPDATE OF "created_at"', pgid='pgtrigger_readable_5e718', table='notifications_boardmessage', when='AFTER'))],
            },
        ),
    ]
