"""Settings from the operator's configuration."""

import json
from pathlib import Path
from typing import Any

import pytest

from dynamo_webhooks.api.operator.controllers import Istio
from dynamo_webhooks.cli.installation.configuration import load_configuration
from dynamo_webhooks.reconciler.render.settings import Settings, format_go_duration, make_settings
from tests.cli.conftest import Command, Files
from tests.reconciler.rendering import component, graph
from tests.rows import run_each

CONFIGURATION = """
apiVersion: operator.config.dynamo.nvidia.com/v1alpha1
kind: OperatorConfiguration
operator: {namespace: dynamo-system, serviceAccount: sa, version: 1.3.0}
orchestrators: {grove: {enabled: true, terminationDelay: 90s}, lws: {enabled: false}}
discovery: {backend: etcd}
infrastructure: {natsAddress: "nats://n", prometheusEndpoint: "http://p"}
ingress: {controllerClassName: nginx, hostSuffix: example.com}
rbac: {plannerClusterRoleName: plan, eppClusterRoleName: pick, dgdrProfilingClusterRoleName: profile}
mpi: {sshSecretName: ssh, sshSecretNamespace: keys}
serviceMesh: {provider: istio, istio: {tlsMode: SIMPLE}}
checkpoint: {enabled: true, seccomp: {disabled: true}, storage: {type: pvc, pvc: {pvcName: snaps, basePath: /c}}}
"""


def _settings(text: str, folder: Path, **abilities: Any) -> Settings:
    file = folder / "operator.yaml"
    file.write_text(text)
    return make_settings(load_configuration(str(file), {}).configuration, Settings(**abilities))


def test_every_key_that_matters_arrives(tmp_path: Path) -> None:
    settings = _settings(CONFIGURATION, tmp_path, lws=True, istio=True)
    assert (settings.grove, settings.lws, settings.dra, settings.istio, settings.kai) == (True, False, True, True, False)
    assert (settings.operator_version, settings.restricted, settings.discovery) == ("1.3.0", False, "etcd")
    assert (settings.infrastructure.nats_address, settings.infrastructure.prometheus_endpoint) == ("nats://n", "http://p")
    assert (settings.ingress.controller_class_name, settings.ingress.host_suffix) == ("nginx", "example.com")
    assert settings.mesh == Istio(tls_mode="SIMPLE")
    assert (settings.planner_role, settings.epp_role, settings.ssh_secret, settings.ssh_secret_namespace) == ("plan", "pick", "ssh", "keys")
    assert settings.termination_delay == "1m30s"
    kept = settings.checkpoints
    assert (kept.enabled, kept.create_missing, kept.gate, kept.storage, kept.seccomp_profile) == (True, True, False, "pvc", "")
    assert (kept.pvc.pvc_name, kept.pvc.base_path, kept.pvc.create) == ("snaps", "/c", False)


def test_what_is_not_switched_is_what_the_cluster_serves(tmp_path: Path) -> None:
    text = CONFIGURATION.replace("grove: {enabled: true, terminationDelay: 90s}, lws: {enabled: false}", "kaiScheduler: {enabled: false}")
    assert _settings(text, tmp_path, grove=True, lws=True, kai=True, dra=False)[:5] == (True, True, False, False, False)


@run_each(
    ("seconds", "text"),
    [(900, "15m0s"), (3600, "1h0m0s"), (5405, "1h30m5s"), (59, "59s"), (0, "0s"), (0.25, "250ms"), (1.5, "1.5s"), (90.05, "1m30.05s")],
)
def test_durations_are_written_as_go_writes_them(seconds: float, text: str) -> None:
    assert format_go_duration(seconds) == text


@pytest.mark.parametrize(("facts", "version"), [(("--set-fact", "operatorVersion=1.2.0"), "1.2.0"), ((), "1.3.0")])
def test_render_reads_the_configuration_and_facts_win(command: Command, files: Files, facts: tuple[str, ...], version: str) -> None:
    obj = graph(component("fe", "frontend"))
    files(config=CONFIGURATION.replace("grove: {enabled: true, terminationDelay: 90s}, ", ""), a=json.dumps(obj))
    ran = command("render", "-o", "json", "--config", "config.yaml", *facts, "a.yaml")
    made = {child["kind"]: child for child in ran.json}
    assert ran.code == 0
    assert "operatorVersion" not in ran.err
    assert "Ingress" in made
    assert "Role" not in made
    annotations = made["DynamoComponentDeployment"]["spec"]["podTemplate"]["metadata"]["annotations"]
    assert annotations == {"nvidia.com/dynamo-operator-origin-version": version}


def test_a_wrong_configuration_is_wrong_usage(command: Command, files: Files) -> None:
    files(config=CONFIGURATION.replace("etcd", "zookeeper"), a=json.dumps(graph(component("fe", "frontend"))))
    ran = command("render", "--config", "config.yaml", "a.yaml")
    assert (ran.code, ran.out) == (2, "")
    assert "discovery.backend" in ran.err
