"""The files that deploy Carillon: valid, and with the same commands and variables as the documentation."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from compose_spec import ComposeSpecification

CHECKOUT = Path(__file__).parents[2]
UNITS = CHECKOUT / "deploy" / "systemd"
CONFIGURATION = (CHECKOUT / "docs" / "configuration.md").read_text()
SERVICES: dict[str, Any] = yaml.safe_load((CHECKOUT / "compose.yaml").read_text())["services"]
# From "In production": the command of web, workers, beats and migrations.
COMMANDS = {
    line.partition("  #")[0].strip()
    for line in re.findall(r"```\n(uvicorn.*?)```", CONFIGURATION, re.DOTALL)[0].splitlines()
}

WEB, WORKER = (next(command for command in COMMANDS if word in command) for word in ("uvicorn ", " worker "))


def test_the_compose_file_follows_the_specification() -> None:
    text = (CHECKOUT / "compose.yaml").read_text()
    ComposeSpecification(**yaml.safe_load(text))
    named = set(re.findall(r"\$\{(\w+)", text)) - {"CARILLON_VERSION"}
    example = (CHECKOUT / ".env.example").read_text()
    given = set(re.findall(r"^(\w+)=", example, re.MULTILINE))
    assert named <= given
    for variable in {*SERVICES["web"]["environment"], *given} - {"POSTGRES_PASSWORD", "VALKEY_PASSWORD"}:
        assert f"`{variable}`" in CONFIGURATION, variable
    assert all(".env" in one["env_file"] for one in SERVICES.values() if "build" in one)
    assert all(one["logging"] == {"driver": "local"} for one in SERVICES.values())  # else a disk fills


def test_the_image_is_built_as_hadolint_asks() -> None:
    hadolint = Path(sys.executable).with_name("hadolint")
    done = subprocess.run([hadolint, CHECKOUT / "Dockerfile"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert (CHECKOUT / "Dockerfile").read_text().rstrip().endswith(json.dumps(WEB.split()))


def test_compose_and_systemd_run_the_documented_commands() -> None:
    assert len(COMMANDS) == 4
    compose = {
        " ".join(service["command"]) for name, service in SERVICES.items() if "build" in service and name != "web"
    }
    assert compose | {WEB} == {command.replace("worker1@", "worker@") for command in COMMANDS}
    units = {
        line.removeprefix("ExecStart=/opt/carillon/.venv/bin/").replace("%%", "%")
        for unit in UNITS.glob("*.service")
        for line in unit.read_text().splitlines()
        if line.startswith("ExecStart=")
    }
    as_unit = {WORKER: WORKER.replace("worker1@", "worker%i@"), WEB: re.sub(r"--host \S+", "--host 127.0.0.1", WEB)}
    assert units == {as_unit.get(command, command) for command in COMMANDS}


def test_kubernetes_runs_the_documented_commands_and_takes_its_objects() -> None:
    objects = yaml.safe_load((CHECKOUT / "deploy" / "kubernetes" / "carillon.yaml").read_text())["items"]
    for one in objects:
        kubernetes_validate.validate(one, "1.33", strict=True)
    pods = [one["spec"]["template"]["spec"] for one in objects if "template" in one.get("spec", ())]
    containers = [container for pod in pods for container in pod["containers"]]
    commands = {" ".join(one["command"]) for one in containers if "command" in one}  # that of web is the image's
    assert commands | {WEB} == {command.replace("worker1@", "worker@") for command in COMMANDS}
    assert all(one["securityContext"]["readOnlyRootFilesystem"] for one in containers)


def test_dashboard_and_alerts_ask_for_numbers_that_exist() -> None:
    numbers = (CHECKOUT / "config" / "web" / "health.py").read_text()
    existing = set(re.findall(r'"(carillon_\w+)"', numbers))
    dashboard = json.loads((CHECKOUT / "deploy" / "grafana" / "carillon.json").read_text())
    expressions = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    rules = yaml.safe_load((CHECKOUT / "deploy" / "prometheus" / "carillon.yml").read_text())["groups"][0]["rules"]
    expressions += [rule["expr"] for rule in rules]
    for expression in expressions:
        named = {name.removesuffix("_total") for name in re.findall(r"carillon_\w+", expression)}
        assert named <= existing, expression


@pytest.mark.skipif(shutil.which("promtool") is None, reason="Prometheus is not installed")
def test_prometheus_reads_the_rules_and_the_dashboard(tmp_path: Path) -> None:
    dashboard = json.loads((CHECKOUT / "deploy" / "grafana" / "carillon.json").read_text())
    asked = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    recorded = [{"record": f"panel{number}", "expr": expression} for number, expression in enumerate(asked)]
    file = tmp_path / "dashboard.yml"
    file.write_text(json.dumps({"groups": [{"name": "dashboard", "rules": recorded}]}))
    for one in (file, CHECKOUT / "deploy" / "prometheus" / "carillon.yml"):
        done = subprocess.run(["promtool", "check", "rules", one], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


# What makes each alert fire within 40 minutes: series with their values, one each 30 s.
ALERTS = {
    "CarillonDown": {"up{}": "0x80"},
    "CarillonClockStopped": {"carillon_beat_age_seconds{}": "61x80"},
    "CarillonCanaryLate": {"carillon_canary_age_seconds{}": "121x80"},
    "CarillonTasksDoNotRun": {"carillon_periodic_task_problems{}": "1x80"},
    "CarillonQueueUnserved": {"carillon_queues_unserved{}": "1x80"},
    "CarillonOnHold": {"carillon_on_hold{}": "1x80"},
    "CarillonBackupOld": {"carillon_backup_age_seconds{}": "172801x80"},
    "CarillonLate": {'carillon_work_late{kind="event"}': "101x80"},
    "CarillonDeadLetters": {'carillon_dead_letters{kind="event"}': "0x60 100x20"},
    "CarillonProviderFails": {
        'carillon_tries_total{kind="delivery", handler="ntfy", outcome="unreachable"}': "0+2x80",
        'carillon_tries_total{kind="delivery", handler="ntfy", outcome="delivered"}': "0+1x80",
    },
}
HEALTHY = {
    "up{}": "1x80",
    "carillon_beat_age_seconds{}": "4x80",
    "carillon_canary_age_seconds{}": "70x80",
    "carillon_periodic_task_problems{}": "0x80",
    "carillon_queues_unserved{}": "0x80",
    "carillon_on_hold{}": "0x80",
    "carillon_backup_age_seconds{}": "90000x80",
    'carillon_work_late{kind="event"}': "99x80",
    'carillon_dead_letters{kind="event"}': "0x60 9x20",
    'carillon_tries_total{kind="delivery", handler="ntfy", outcome="unreachable"}': "0+1x80",
    'carillon_tries_total{kind="delivery", handler="ntfy", outcome="delivered"}': "0+2x80",
}


@pytest.mark.skipif(shutil.which("promtool") is None, reason="Prometheus is not installed")
def test_each_alert_fires_for_its_reason_alone(tmp_path: Path) -> None:
    path = CHECKOUT / "deploy" / "prometheus" / "carillon.yml"
    rules = {rule["alert"]: rule for rule in yaml.safe_load(path.read_text())["groups"][0]["rules"]}
    assert rules.keys() == ALERTS.keys()
    tests = []
    for problem, series in {"": {}, **ALERTS}.items():
        fires = {}
        if problem:
            labels = dict(re.findall(r'(\w+)="(\w+)"', next(iter(series))))
            text = rules[problem]["annotations"]["summary"]
            for name, value in labels.items():
                text = text.replace(f"{{{{ $labels.{name} }}}}", value)
            kept = {"handler": "ntfy"} if "handler" in labels else {"job": "carillon", **labels}
            fires = {problem: [{"exp_labels": kept, "exp_annotations": {"summary": text}}]}
        inputs = {one.replace("{", '{job="carillon",'): values for one, values in (HEALTHY | series).items()}
        asked = [{"eval_time": "35m", "alertname": name, "exp_alerts": fires.get(name, [])} for name in rules]
        shown = [{"series": one, "values": values} for one, values in inputs.items()]
        tests.append({"interval": "30s", "input_series": shown, "alert_rule_test": asked})
    file = tmp_path / "alerts.yml"
    file.write_text(json.dumps({"rule_files": [str(path)], "evaluation_interval": "30s", "tests": tests}))
    done = subprocess.run(["promtool", "test", "rules", file], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
@pytest.mark.parametrize("unit", ["carillon-web.service", "carillon-worker@.service", "carillon-beat@.service"])
def test_a_unit_may_do_little(unit: str, tmp_path: Path) -> None:
    shutil.copytree(UNITS, tmp_path, dirs_exist_ok=True)
    for file in tmp_path.glob("*.service"):  # the check wants programs that exist
        file.write_text(re.sub(r"/opt/carillon/\.venv/bin/\w+", "/bin/true", file.read_text()))
    seen = {"cwd": tmp_path, "env": {"SYSTEMD_UNIT_PATH": f"{tmp_path}:"}, "capture_output": True, "text": True}
    analyze = str(shutil.which("systemd-analyze"))
    verified = subprocess.run([analyze, "verify", unit], **seen, check=False)  # type: ignore[call-overload]
    assert "carillon" not in verified.stderr, verified.stderr
    asked = [analyze, "security", "--offline=true", "--threshold=30", unit]
    rated = subprocess.run(asked, **seen, check=False)  # type: ignore[call-overload]
    assert rated.returncode == 0, rated.stdout
