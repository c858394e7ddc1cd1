"""The effective configuration: which source wins, where each value came from, and how everything wrong is told at once."""

import json
from pathlib import Path
from typing import Final

import pytest

from dynamo_webhooks.cli.console.exits import UsageError
from dynamo_webhooks.cli.daemon.listening import load_settings
from dynamo_webhooks.cli.installation.configuration import VARIABLES, EnvironmentVariable, load_configuration
from dynamo_webhooks.kube import config
from tests.cli.conftest import Command
from tests.rows import run_each

FILE: Final = """\
apiVersion: operator.config.dynamo.nvidia.com/v1alpha1
kind: OperatorConfiguration
server:
  webhook:
    port: 9444
rbac: {plannerClusterRoleName: p, dgdrProfilingClusterRoleName: q, eppClusterRoleName: e}
mpi: {sshSecretName: key, sshSecretNamespace: dynamo-system}
"""


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """The runner's own environment must not speak."""
    for variable in VARIABLES:
        monkeypatch.delenv(variable.name, raising=False)
    monkeypatch.setattr(config, "find_own_namespace", lambda environment: environment.get("POD_NAMESPACE", ""))


def stored(folder: Path, text: str = FILE) -> str:
    file = folder / "config.yaml"
    file.write_text(text)
    return str(file)


def refusal(file: str | None, environment: dict[str, str] | None = None) -> list[str]:
    with pytest.raises(UsageError) as error:
        load_configuration(file, environment or {})
    return [line.strip() for line in str(error.value).splitlines()]


def test_flags_win_over_environment_over_file_over_defaults(tmp_path: Path) -> None:
    file = stored(tmp_path, FILE + "serving: {drainLag: 2s}\nlogging: {level: debug}\n")
    environment = {"KUBERNETES_CLUSTER_DOMAIN": "b.local"}
    loaded = load_configuration(file, environment, {("serving", "drainLag"): ("--drain-lag", "4s")})
    serving = loaded.configuration.serving
    assert (serving.drain_lag, loaded.origin(("serving", "drainLag"))) == (4, "flag --drain-lag")
    domain = loaded.configuration.operator.cluster_domain
    assert (domain, loaded.origin(("operator", "clusterDomain"))) == ("b.local", "environment KUBERNETES_CLUSTER_DOMAIN")
    assert (loaded.configuration.logging.level, loaded.origin(("logging", "level"))) == ("debug", f"{file}:9")
    assert (serving.drain_timeout, loaded.origin(("serving", "drainTimeout"))) == (20, "default")


@pytest.mark.parametrize(("text", "on"), [("1", True), ("true", False), ("1 ", False), ("01", False), ("0", False)])
def test_the_snapshot_gate_opens_for_exactly_1(tmp_path: Path, text: str, on: bool) -> None:
    loaded = load_configuration(stored(tmp_path), {"DYN_OPERATOR_ALLOW_GMS_SNAPSHOT": text})
    assert loaded.configuration.feature_gates.gms_snapshot is on


@run_each("variable", VARIABLES)
def test_every_variable_reaches_its_key_and_is_silent_when_empty(variable: EnvironmentVariable) -> None:
    name, key = variable.name, variable.key
    values = {"DYNAMO_WEBHOOKS_LOG_LEVEL": "debug", "DYNAMO_WEBHOOKS_METRICS_SECURE": "false"}
    loaded = load_configuration(None, {name: values.get(name, "1")})
    assert loaded.origin(key) == f"environment {name}"
    assert load_configuration(None, {name: ""}).origin(key) == "default"


def test_everything_wrong_is_told_with_its_line(tmp_path: Path) -> None:
    text = FILE.replace("port: 9444", "prot: 9444\n    certDir: 5") + "certProvisionMode: auto\ndra: true\n"
    lines = refusal(file := stored(tmp_path, text), {"DYNAMO_WEBHOOKS_LOG_LEVEL": "loud"})
    assert lines == [
        f"{file} can't be used; 5 things to change:",
        f"{file}:6: server.webhook.certDir: must be a string, got the number 5",
        f"{file}:5: server.webhook.prot: unknown key; did you mean port?",
        f"{file}:10: dra: must be a mapping, got true",
        'environment DYNAMO_WEBHOOKS_LOG_LEVEL: logging.level: must be one of debug, info, warn, warning, error, got "loud"',
        f"{file}:9: certProvisionMode: unknown key; it belongs at server.webhook.certProvisionMode",
        "unknown keys of a newer operator are ignored with --lenient-config",
    ]
    [_, line] = refusal(stored(tmp_path, FILE + "operator: me\n"), {"POD_NAME": "pod"})
    assert line.endswith('operator: must be a mapping, got "me"'), "an environment hides no section of a wrong type"


NEWER: Final = FILE + "checkpoint: {enabled: true, nextThing: {a: 1}}\nnextSection: {}\n"


def test_unknown_keys_of_a_newer_chart_are_passed_over_if_asked_and_logged_once(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    loaded = load_configuration(file := stored(tmp_path, NEWER), {}, lenient=True)
    assert [line.partition(";")[0] for line in loaded.unknown] == [
        f"{file}:8: checkpoint.nextThing: unknown key",
        f"{file}:9: nextSection: unknown key",
    ]
    assert (loaded.configuration.checkpoint.enabled, loaded.configuration.server.webhook.port) == (True, 9444)
    assert load_configuration(file := stored(tmp_path), {}, lenient=True).unknown == ()
    with pytest.raises(UsageError, match=r"1 thing to change:\n.*dra: must be a mapping, got true$"):
        load_configuration(stored(tmp_path, NEWER + "dra: true\n"), {}, lenient=True)
    assert load_settings(stored(tmp_path, NEWER), {}, lenient=True).server.webhook.port == 9444
    lines = [json.loads(line) for line in capfd.readouterr().err.splitlines()]
    assert [line["level"] for line in lines] == ["warning", "warning"]
    assert ["checkpoint.nextThing: unknown key" in lines[0]["msg"], "nextSection: unknown key" in lines[1]["msg"]] == [True, True]


@pytest.mark.parametrize("words", [["config"], ["render", "none.yaml"]])
def test_commands_warn_of_the_keys_that_they_pass_over(words: list[str], command: Command, tmp_path: Path) -> None:
    ran = command(*words, "--config", stored(tmp_path, NEWER), "--lenient-config")
    warnings = [line.partition(";")[0].partition("config.yaml:")[2] for line in ran.err.splitlines() if line.startswith("warning: ")]
    assert (warnings, ran.code != 2) == (["8: checkpoint.nextThing: unknown key", "9: nextSection: unknown key"], True)


def test_the_service_account_tells_the_namespace_when_nobody_else_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "find_own_namespace", lambda environment: environment.get("POD_NAMESPACE") or "of-the-account")
    key = ("operator", "namespace")
    for text, environment, wanted in (
        ("", {}, ("of-the-account", "the service account")),
        ("operator: {namespace: mine}\n", {}, ("mine", f"{tmp_path / 'config.yaml'}:8")),
        ("operator: {namespace: mine}\n", {"POD_NAMESPACE": "pods"}, ("pods", "environment POD_NAMESPACE")),
    ):
        loaded = load_configuration(stored(tmp_path, FILE + text), environment)
        assert (loaded.configuration.operator.namespace, loaded.origin(key)) == wanted


def test_a_version_must_be_semantic() -> None:
    with pytest.raises(UsageError, match=r'flag --operator-version: operator.version: must be a semantic version .*, got "latest"'):
        load_configuration(None, {}, {("operator", "version"): ("--operator-version", "latest")})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "must be one OperatorConfiguration, a mapping"),
        ("- 1\n", "must be one OperatorConfiguration, a mapping"),
        (f"{FILE}---\n{FILE}", "must be one OperatorConfiguration, a mapping"),
        ("a: [\n", "--config "),
    ],
)
def test_a_file_that_is_no_configuration_or_not_there(tmp_path: Path, text: str, words: str) -> None:
    assert words in refusal(stored(tmp_path, text))[0]
    assert refusal(str(tmp_path / "none.yaml")) == [f"--config {tmp_path / 'none.yaml'}: does not exist"]


def test_what_the_command_writes_as_yaml_can_be_given_back(command: Command, tmp_path: Path) -> None:
    again = tmp_path / "again.yaml"
    again.write_text(command("config", "--config", stored(tmp_path), "-o", "yaml").out)
    values = [command("config", "--config", name, "-o", "json").json["values"] for name in (tmp_path / "config.yaml", again)]
    assert [(row["key"], row["value"]) for row in values[0]] == [(row["key"], row["value"]) for row in values[1]]
    assert all(row["from"].startswith(str(again)) for row in values[1] if row["value"] is not None)
    rows = [line.split() for line in command("config", "--config", tmp_path / "config.yaml").out.splitlines()]
    assert ["server.metrics.port", "8080", "default"] in rows
    assert ["dra.enabled", "-", "default"] in rows


def test_the_command_shows_no_password(command: Command, tmp_path: Path) -> None:
    file = stored(tmp_path, FILE + "infrastructure: {natsAddress: 'nats://me:secret@nats:4222'}\n")
    for form in ("text", "json", "yaml"):
        ran = command("config", "--config", file, "-o", form)
        assert "nats://me:" in ran.out
        assert "secret@" not in ran.out
