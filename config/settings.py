"""All settings, read from the environment and safe by default. `docs/configuration.md` lists the variables.

Without DATABASE_URL or REDIS_URL, an embedded engine is started in `var/` (see `config/embedded`).
"""

import sys
from email.utils import parseaddr
from pathlib import Path
from urllib.parse import urlsplit

from config import celery as _celery, celery_settings, embedded, logs  # noqa: F401 - shared tasks need their app
from config.admin import UNFOLD as UNFOLD
from config.celery_settings import *  # noqa: F403 - Django reads all of them from here
from config.environment import engine_urls, env
from config.processes import commands

BASE_DIR = Path(__file__).resolve().parent.parent
VAR_DIR = embedded.var_dir()

# --- Engines ---------------------------------------------------------------------------------------------------------
_given_database, _given_redis = env.text("DATABASE_URL", ""), env.text("REDIS_URL", "")
_given_broker = env.text("BROKER_URL", "")
_database_url, _redis_url = embedded.urls(_given_database, _given_redis)
_embedded_database = not _given_database
POSTGRES_PROGRAMS = "" if _given_database else embedded.postgres_programs()  # a folder; empty: those of the PATH
REDIS_URL = engine_urls.redis(_redis_url)

DATABASES = {"default": engine_urls.database(_database_url)}
if _replica_url := env.text("DATABASE_REPLICA_URL", ""):
    DATABASES["replica"] = engine_urls.database(_replica_url, "DATABASE_REPLICA_URL")
    DATABASE_ROUTERS = ["common.database.replica.Router"]
# Variables of servers on other hosts whose connections are not secured, for a warning at the start.
UNENCRYPTED = engine_urls.unencrypted(DATABASES, REDIS_URL)
_role, _worker_threads = commands.role_of(sys.argv), commands.threads_of(sys.argv)
_pool = env.flag("DATABASE_POOL", _worker_threads)  # a prefork worker keeps one connection for each process
for _alias, _database in DATABASES.items():
    engine_urls.use_connections(_database, _role, _pool, is_replica=_alias == "replica")
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

VERSION = "1.0.0"

# --- Addresses -------------------------------------------------------------------------------------------------------
DEBUG = env.flag("DEBUG", False)
BASE_URL = env.origin("BASE_URL", f"http://127.0.0.1:{env.integer('PORT', 8000)}")
OLD_HOSTS = env.hosts("OLD_HOSTS", [])  # of which links were sent
ALLOWED_HOSTS = env.hosts("ALLOWED_HOSTS", ["localhost", "127.0.0.1", "[::1]"]) + OLD_HOSTS
CSRF_TRUSTED_ORIGINS = [BASE_URL]
API_ORIGINS = env.origins("API_ORIGINS")  # sites whose scripts may call the API
FLOWS = env.listing("FLOWS", [])  # packages of flows beside Carillon's own
ROOT_URLCONF = "config.urls"

# --- Secrets: with the embedded PostgreSQL they are generated once in var/; otherwise they are required --------------
_stored_key = embedded.stored_text("secret-key", 48) if _embedded_database else None
SECRET_KEY = env.signing_key(env.text("SECRET_KEY", default=_stored_key), DEBUG)
_stored_key = embedded.stored_text("encryption-key", 32) if _embedded_database else None
ENCRYPTION_KEYS = env.encryption_keys(env.text("ENCRYPTION_KEYS", default=_stored_key))
# Old keys verify links in messages that were already sent.
SECRET_KEY_FALLBACKS = env.listing("SECRET_KEY_FALLBACKS", [])

# What push services know this installation by; empty: a key made from SECRET_KEY.
VAPID_PRIVATE_KEY = env.vapid_key(env.text("VAPID_PRIVATE_KEY", ""))

_https = BASE_URL.startswith("https://")
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE_SSL_REDIRECT = _https
# Browsers take a cookie of such a name only by https, for this host alone. Forms hold the token, so no script reads it.
COOKIE_PREFIX = "__Host-" if _https else ""
SESSION_COOKIE_NAME, CSRF_COOKIE_NAME = f"{COOKIE_PREFIX}sessionid", f"{COOKIE_PREFIX}csrftoken"
CSRF_COOKIE_HTTPONLY = True
MESSAGE_STORAGE = "config.web.message_cookie.Storage"
SECURE_HSTS_SECONDS = 31_536_000 if _https else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = _https
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if env.flag("BEHIND_PROXY", False) else None
PROXY_NETWORKS = env.networks("PROXY_NETWORKS")  # of proxies whose headers count; empty: any
SECURE_REDIRECT_EXEMPT = [r"^healthz(/(clock|queues))?$"]
# Forms report a text that is too long. Larger bodies are refused unread (see body_limit.py).
DATA_UPLOAD_MAX_MEMORY_SIZE = 16 * 1024 * 1024
DATA_UPLOAD_MAX_NUMBER_FIELDS = 2_000  # a calendar file has up to 1,000 events to choose from

ALLOWED_NETWORKS = env.networks("ALLOWED_NETWORKS")  # private ones that channels may reach, as CIDR
EGRESS_PROXY = env.proxy(env.text("EGRESS_PROXY", ""))  # for all requests to services and webhooks; empty: none
# Certificates of authorities that are trusted besides the machine's, such as one's own at home; empty: none.
EXTRA_CA_FILE = env.certificates("EXTRA_CA_FILE")

# Addresses of the services, for a self-hosted Bot API server or for tests.
SERVICE_URLS = {
    "telegram": env.url("TELEGRAM_URL", "https://api.telegram.org").rstrip("/"),
    "discord": env.url("DISCORD_URL", "https://discord.com").rstrip("/"),
    "slack": env.url("SLACK_URL", "https://hooks.slack.com").rstrip("/"),
    "github": env.url("GITHUB_URL", "https://api.github.com").rstrip("/"),
}

# Hosts of the push services that browsers may name; with a dot in front, every host below it.
PUSH_SERVICES = env.hosts(
    "PUSH_SERVICES",
    [
        "fcm.googleapis.com",  # Chrome, Edge on Android, and those that are built on Chrome
        "jmt17.google.com",
        "updates.push.services.mozilla.com",
        ".push.apple.com",
        ".notify.windows.com",  # Edge
    ],
)

# Rate limits for services that document none; 0: no limit.
EMAILS_PER_MINUTE = env.integer("EMAILS_PER_MINUTE", 0)
WEBHOOKS_PER_SECOND = env.integer("WEBHOOKS_PER_SECOND", 10)  # per host
# Seconds by which reminders without a spread of their own are put off: (least, most).
DEFAULT_SPREAD = env.spread("DEFAULT_SPREAD")
# Seconds between the tries of a delivery, by the kind of provider.
RETRY_WAITS = env.retry_waits("RETRY_WAITS_")
# Sends in flight for one host, over all workers: {"": of any, host: of this one}.
SENDS_AT_ONCE = env.sends_at_once("SENDS_AT_ONCE", 8)

# --- Django ----------------------------------------------------------------------------------------------------------
# Workers and beats load the admin's pages with `config.urls`, if they write a link to one.
_admin = "admin.apps.SimpleAdminConfig" if _role in ("carillon worker", "carillon beat") else "admin"
INSTALLED_APPS = [
    *("common", "people", "work", "notifications", "jobs", "schedules", "events"),
    *("locks", "counters", "watches", "api"),
    "unfold",
    *(f"django.contrib.{name}" for name in (_admin, "auth", "contenttypes", "messages", "staticfiles")),
    # Social accounts always, since their rows go with their person.
    *("allauth", "allauth.account", "allauth.mfa", "allauth.socialaccount"),
    *("pgtrigger", "django_htmx", "django_celery_beat", "django_celery_results"),
]
MIDDLEWARE = [
    "config.web.middleware.EncryptedOnly",
    "config.web.middleware.MovedHost",
    "django.middleware.security.SecurityMiddleware",
    "config.web.middleware.Compression",
    "config.web.middleware.ContentSecurityPolicy",
    "config.web.static_files.StaticFiles",
    "config.web.middleware.PrivatePages",
    "api.protocol.middleware.Problems",
    "config.web.middleware.UTF8Only",
    "django.middleware.common.CommonMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "people.sign_in.security_log.Refusals",
    "api.protocol.calls.Calls",  # what follows is for pages
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "people.sign_in.sessions.SessionLimits",
    "people.middleware.ReadersZoneAndLanguage",
    "people.middleware.FactorFirst",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "people.middleware.ActingFor",
    "people.middleware.FewRequestsAtOnce",
    "common.admin.damaged.DamagedRows",
]
_CONTEXT = [
    "django.template.context_processors.request",
    "django.contrib.auth.context_processors.auth",
    "django.contrib.messages.context_processors.messages",
    *("notifications.web.live.unread", "notifications.web.live.mail_notice", "people.web.themes.context"),
    *("schedules.web.context.pulse", "schedules.web.context.attention"),
]
_ENGINE = {"BACKEND": "django.template.backends.django.DjangoTemplates", "DIRS": [BASE_DIR / "templates"]}
TEMPLATES = [_ENGINE | {"APP_DIRS": True, "OPTIONS": {"context_processors": _CONTEXT}}]

STATIC_URL = "static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
# Served from the source folders, without collectstatic.
STORAGES = {"staticfiles": {"BACKEND": "config.web.static_files.HashedNames"}}
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = DEBUG
WHITENOISE_MIMETYPES = {".webmanifest": "application/manifest+json"}

# --- People ----------------------------------------------------------------------------------------------------------
AUTH_USER_MODEL = "people.User"
SESSION_ENGINE = "people.sign_in.sessions"
AUTHENTICATION_BACKENDS = [
    "django.contrib.auth.backends.ModelBackend",
    "allauth.account.auth_backends.AuthenticationBackend",
]
_STOCK = "django.contrib.auth.password_validation"
AUTH_PASSWORD_VALIDATORS = [
    *({"NAME": f"{_STOCK}.{name}Validator"} for name in ("UserAttributeSimilarity", "MinimumLength", "CommonPassword")),
    {"NAME": "people.sign_in.passwords.ContextValidator"},
]
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "schedules:list"
ACCOUNT_ADAPTER = "people.sign_in.adapter.AccountAdapter"
ACCOUNT_LOGIN_METHODS = {"email"}
ACCOUNT_FORMS = {
    "signup": "people.web.account_forms.SignUpForm",
    "add_email": "people.web.account_forms.AddAddressForm",
    "change_password": "people.web.account_forms.ChangeOwnPasswordForm",
    "reset_password_from_key": "people.web.account_forms.ResetPasswordForm",
}
ACCOUNT_SIGNUP_FIELDS = ["email*", "password1*"]
ACCOUNT_USER_MODEL_USERNAME_FIELD = None
# With https and a mail server, an address must be confirmed first. Then sign-up does not reveal who has an account.
_email_url = env.text("EMAIL_URL", "")
ACCOUNT_EMAIL_VERIFICATION = "mandatory" if _https and _email_url else "optional"
ACCOUNT_EMAIL_SUBJECT_PREFIX = "[Carillon] "
ACCOUNT_LOGOUT_REDIRECT_URL = LOGIN_URL
ACCOUNT_DEFAULT_HTTP_PROTOCOL = "https" if _https else "http"
ACCOUNT_EMAIL_NOTIFICATIONS = True  # for each change of how a person signs in
ACCOUNT_REAUTHENTICATION_REQUIRED = True  # before an address changes: a stolen session does not pass
PASSWORD_RESET_TIMEOUT = 3600
ACCOUNT_MAX_EMAIL_ADDRESSES = 3  # each new one gets a mail
ACCOUNT_RATE_LIMITS = {"manage_email": "10/m/user,30/d/user"}
SIGN_UP = env.flag("SIGN_UP", True)
ONBOARDING = env.flag("ONBOARDING", True)  # messages to new people about their first steps
# Sign-in by an OpenID provider beside the password; None: there is none.
OIDC = env.openid_provider("OIDC_URL")
SOCIALACCOUNT_ADAPTER = "people.sign_in.oidc.Adapter"
# Only for confirmed addresses, see the adapter.
SOCIALACCOUNT_EMAIL_AUTHENTICATION = SOCIALACCOUNT_EMAIL_AUTHENTICATION_AUTO_CONNECT = True
if OIDC:
    INSTALLED_APPS.append("allauth.socialaccount.providers.openid_connect")
    _client = {"provider_id": "oidc", "name": OIDC.name, "client_id": OIDC.client, "secret": OIDC.secret}
    _server = {"server_url": OIDC.issuer, "oauth_pkce_enabled": True}
    SOCIALACCOUNT_PROVIDERS = {"openid_connect": {"APPS": [{**_client, "settings": _server}]}}
# An authenticator app, security keys and recovery codes. With https, staff must have a second factor.
MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
MFA_ADAPTER = "people.sign_in.second_factor.Adapter"
MFA_RECOVERY_CODES_SHOW_ONCE = True
MFA_TOTP_ISSUER = "Carillon"
MFA_TOTP_TOLERANCE = 1  # periods of 30 s on either side, for clocks that differ
MFA_ALLOW_UNVERIFIED_EMAIL = True  # our form checks this, with an exception for staff
MFA_FORMS = {
    "activate_totp": "people.web.factor_forms.SetUpForm",
    "authenticate": "people.web.factor_forms.CodeForm",
    "reauthenticate": "people.web.factor_forms.CodeAgainForm",
    "add_webauthn": "people.web.factor_forms.AddKeyForm",
    "edit_webauthn": "people.web.factor_forms.RenameKeyForm",
    "authenticate_webauthn": "people.web.factor_forms.KeyForm",
    "reauthenticate_webauthn": "people.web.factor_forms.KeyAgainForm",
}
SECOND_FACTOR_FOR_STAFF = _https
# allauth counts tries to sign in, to sign up and to reset a password in this cache, shared by all web processes.
CACHES = {"default": {"BACKEND": "common.redis.cache.Cache", "LOCATION": REDIS_URL, "KEY_PREFIX": "carillon-cache"}}
ALLAUTH_TRUSTED_PROXY_COUNT = 1 if env.flag("BEHIND_PROXY", False) else 0

# --- Numbers for operators -------------------------------------------------------------------------------------------
METRICS_TOKEN = env.text("METRICS_TOKEN", "")  # empty: no /metrics

# A reminder of Carillon's own shows that the whole path works; the address elsewhere is requested while it arrives.
CANARY_PING_URL = env.url("CANARY_PING_URL")
CANARY = env.flag("CANARY", bool(CANARY_PING_URL))

# --- Limits for each person ------------------------------------------------------------------------------------------
MOST_CHANNELS = env.integer("MOST_CHANNELS", 50)
MOST_TEAMS = env.integer("MOST_TEAMS", 10)  # that they own
MOST_MEMBERS = env.integer("MOST_MEMBERS", 50)  # of a team
MOST_CONNECTIONS = env.integer("MOST_CONNECTIONS", 50)
MOST_SCHEDULES = env.integer("MOST_SCHEDULES", 500)
MOST_RULES = env.integer("MOST_RULES", 100)
MOST_WATCHES = env.integer("MOST_WATCHES", 200)
PING_DOMAIN = env.host("PING_DOMAIN")  # of the addresses that take pings by mail; empty: none
PINGS_PER_MINUTE = env.integer("PINGS_PER_MINUTE", 60)  # of each watch
EVENTS_PER_PERSON_PER_MINUTE = env.integer("EVENTS_PER_PERSON_PER_MINUTE", 3_000)  # 0: no limit
EVENTS_PER_PERSON_PER_DAY = env.integer("EVENTS_PER_PERSON_PER_DAY", 100_000)  # or as an operator sets it for a person
EVENT_MEGABYTES_PER_PERSON_PER_DAY = env.integer("EVENT_MEGABYTES_PER_PERSON_PER_DAY", 500)  # with their messages
MOST_HOPS = env.integer("MOST_HOPS", 3, 0, 10_000)  # a chain of events, and what follows from them, ends behind these
MOST_TOPICS = env.integer("MOST_TOPICS", 50)
MOST_ADDED = env.integer("MOST_ADDED", 1_000)  # addresses that its owner has added to a topic
TESTS_A_DAY = env.integer("TESTS_A_DAY", 100)
API_REQUESTS_PER_MINUTE = env.integer("API_REQUESTS_PER_MINUTE", 60)  # for each token; 0: no limit
API_MESSAGES_PER_MINUTE = env.integer("API_MESSAGES_PER_MINUTE", 600_000)  # pulled or published by it; 0: no limit
SENDS_PER_PERSON_PER_DAY = env.integer("SENDS_PER_PERSON_PER_DAY", 1_000)  # without tests and inboxes

# --- Retention -------------------------------------------------------------------------------------------------------
CHANGES_KEPT_DAYS = 7
# Events that changes became must be known at least as long: a restored backup has the changes read again.
_MOST_DAYS = 3_650
EVENTS_KEPT_DAYS = env.integer("EVENTS_KEPT_DAYS", 7, CHANGES_KEPT_DAYS, _MOST_DAYS)
JOBS_KEPT_DAYS = env.integer("JOBS_KEPT_DAYS", 90, 1, _MOST_DAYS)
INBOUND_KEPT_DAYS = env.integer("INBOUND_KEPT_DAYS", 90, 1, _MOST_DAYS)
HISTORY_KEPT_DAYS = env.integer("HISTORY_KEPT_DAYS", 365, 0, _MOST_DAYS)  # 0: for ever
INTERVENTIONS_KEPT_DAYS = env.integer("INTERVENTIONS_KEPT_DAYS", 730, 30, _MOST_DAYS)  # see the trigger of their table

# --- Backups ---------------------------------------------------------------------------------------------------------
BACKUP_KEY = env.text("BACKUP_KEY", "")
BACKUP_TO = env.text("BACKUP_TO", "")  # a folder, or s3://bucket/prefix; empty: none but by `manage.py backup`
if BACKUP_TO and not BACKUP_KEY.upper().startswith("AGE-SECRET-KEY-1"):
    raise env.Misconfigured("BACKUP_KEY", "must be a key of age where BACKUP_TO is set", "AGE-SECRET-KEY-1…")
BACKUP_EVERY_HOURS = env.integer("BACKUP_EVERY_HOURS", 24, 1)
BACKUP_KEEP = env.integer("BACKUP_KEEP", 14)  # 0: all

# --- Time and language -----------------------------------------------------------------------------------------------
LANGUAGE_CODE = "en-gb"
# Each by its own name, for those who do not read the page's.
LANGUAGES = [("en-gb", "English"), ("de", "Deutsch"), ("es", "Español")]
LOCALE_PATHS = [BASE_DIR / "locale"]
TIME_ZONE = "UTC"

# --- Mail ------------------------------------------------------------------------------------------------------------
DEFAULT_FROM_EMAIL = SERVER_EMAIL = env.text("DEFAULT_FROM_EMAIL", "Carillon <carillon@localhost>")
if "@" not in parseaddr(DEFAULT_FROM_EMAIL)[1]:
    raise env.Misconfigured("DEFAULT_FROM_EMAIL", "contains no email address", "Carillon <carillon@example.org>")
MAIL_RETURN_PATH = env.mailbox("MAIL_RETURN_PATH")  # the envelope's sender, who gets what mail servers report
if _email_url:
    EMAIL_BACKEND = "notifications.net.smtp.Backend"  # Django's, with a deadline, and the stage of a failure
    _mail = env.mail(_email_url)
    EMAIL_HOST, EMAIL_PORT, EMAIL_HOST_USER, EMAIL_HOST_PASSWORD, EMAIL_USE_TLS, EMAIL_USE_SSL = _mail
    EMAIL_TIMEOUT = 20
    if not (_mail.tls or _mail.starttls or env.is_local(_mail.host)):
        UNENCRYPTED.append("EMAIL_URL")
else:
    EMAIL_BACKEND = "django.core.mail.backends.filebased.EmailBackend"
    EMAIL_FILE_PATH = VAR_DIR / "mail"

# --- Celery: what the environment decides; the rest is in celery_settings.py ------------------------------------------
if HAS_RABBITMQ := bool(_given_broker):
    CELERY_BROKER_URL, CELERY_BROKER_USE_SSL = engine_urls.rabbitmq(_given_broker)
    if not (env.is_local(urlsplit(CELERY_BROKER_URL).hostname or "") or CELERY_BROKER_USE_SSL.get("cert_reqs")):
        UNENCRYPTED.append("BROKER_URL")
else:
    CELERY_BROKER_URL = engine_urls.broker(REDIS_URL)
# After a reconnection, a thread that ends its task would change it, and read what the main thread waits for.
CELERY_WORKER_ENABLE_PREFETCH_COUNT_REDUCTION = not HAS_RABBITMQ
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "global_keyprefix": "carillon:",
    "socket_timeout": 5,  # a silent broker must not block a web request or beat
    "socket_connect_timeout": 3,
    "socket_keepalive": True,
    "health_check_interval": 10,
    "redis_url": REDIS_URL,  # for our transport, which follows Sentinels
    **{"connect_timeout": 3, "read_timeout": 5, "write_timeout": 5},  # the same, as RabbitMQ's client calls it
}
# Of kinds of job that have workers of their own: {kind: queue}.
JOB_QUEUES = env.job_queues("JOB_QUEUES")
QUEUES = env.queues(JOB_QUEUES)  # in use: workers must serve all of them
# What is set here would win over `--pool prefork`.
CELERY_WORKER_POOL, CELERY_WORKER_CONCURRENCY = ("threads", 512) if _worker_threads else ("prefork", None)
# Prefork reuses a connection for so many tasks; threads return theirs to the pool after each.
CELERY_DB_REUSE_MAX = None if "pool" in DATABASES["default"]["OPTIONS"] else 10_000
CELERY_WORKER_SEND_TASK_EVENTS = CELERY_TASK_SEND_SENT_EVENT = env.flag("TASK_EVENTS", False)
CELERY_BEAT_SCHEDULE = celery_settings.beat_schedule(with_canary=CANARY)

# --- Logs
_log_level = env.choice("LOG_LEVEL", ("INFO", "DEBUG", "WARNING", "ERROR", "CRITICAL"))
LOG_FORMAT = env.choice("LOG_FORMAT", ("text", "json"))
LOGGING = logs.settings(_log_level, as_json=LOG_FORMAT == "json")
if _sentry := env.text("SENTRY_DSN", ""):
    from config import error_reports  # half a second, for those who want it

    error_reports.start(_sentry, VERSION)
