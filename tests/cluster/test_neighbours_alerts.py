"""The alert rules of manifests and chart before promtool: it accepts them, and each fires on its series and is silent on others."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cluster.alerts import CASES, Case, Series
from tests.cluster.assets.build import PROMTOOL
from tests.cluster.assets.wanted import wanted
from tests.cluster.rendering import charted, composed, of_kind

Node = dict[str, Any]


@pytest.fixture(scope="module", params=["manifests", "chart"])
def rules(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The rules as Prometheus reads them."""
    home = tmp_path_factory.mktemp("rules")
    if request.param == "chart":
        objects = charted("dynamo-system", "monitoring.rules.enabled=true")
    else:
        objects = composed(home, "self-signed", "../../monitoring")
    [found] = of_kind(objects, "PrometheusRule")
    file = home / "rules.yaml"
    file.write_text(yaml.safe_dump(found["spec"]))
    return file


def _alerts(rules: Path) -> dict[str, Node]:
    return {rule["alert"]: rule for group in yaml.safe_load(rules.read_text())["groups"] for rule in group["rules"]}


def _promtool(*words: str | Path) -> str:
    done = subprocess.run([wanted(PROMTOOL) / "promtool", *words], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_promtool_accepts_the_rules(rules: Path) -> None:
    assert f"{len(_alerts(rules))} rules found" in _promtool("check", "rules", rules)


def test_each_alert_fires_and_stays_silent(rules: Path) -> None:
    alerts = _alerts(rules)
    assert {name.partition("/")[0] for name in CASES} == {*alerts}
    tests = []
    for name, case in CASES.items():
        alert = alerts[name.partition("/")[0]]
        tests += [_test(alert, case, case.fires, [_told(alert, case)]), _test(alert, case, case.silent, [])]
    file = rules.with_name("tests.yaml")
    file.write_text(yaml.safe_dump({"rule_files": [rules.name], "evaluation_interval": "1m", "tests": tests}))
    _promtool("test", "rules", file)


def _test(alert: Node, case: Case, series: Series, told: list[Node]) -> Node:
    return {
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in series.items()],
        "alert_rule_test": [{"eval_time": f"{case.at}m", "alertname": alert["alert"], "exp_alerts": told}],
    }


def _told(alert: Node, case: Case) -> Node:
    annotations = {**alert["annotations"], **({"description": case.description} if case.description else {})}
    return {"exp_labels": {**alert["labels"], **case.labels}, "exp_annotations": annotations}
