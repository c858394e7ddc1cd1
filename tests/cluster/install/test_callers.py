"""What closes the webhook port, in the chart and by Kustomize: client authorities in the configuration, addresses in the policy."""

from pathlib import Path
from typing import Final

import pytest
import trustme
import yaml

from dynamo_webhooks.cli.installation.configuration import load_configuration
from tests.cluster.assets.build import release_of
from tests.cluster.rendering import CHART, RELEASE, Node, charted, composed, helm, of_kind, refused

NAMESPACE: Final = "dynamo-system"


def _rules(objects: list[Node]) -> list[Node]:
    """What the policy of servers lets in."""
    [policy] = [each for each in of_kind(objects, "NetworkPolicy") if each["metadata"]["name"].endswith("-server")]
    rules: list[Node] = policy["spec"]["ingress"]
    return rules


def test_the_webhook_port_is_for_api_servers_and_the_provisioner(tmp_path: Path, assets: Path) -> None:
    """Both ways say the same, about the provisioner that is installed; probes and metrics stay as they are."""
    ours = _rules(composed(tmp_path, "self-signed", "components/control-plane"))
    objects = charted(NAMESPACE, "networkPolicy.controlPlane={192.0.2.0/24}")
    chart = _rules(objects)
    [pods] = [each["spec"]["template"] for each in of_kind(objects, "Deployment") if each["metadata"]["name"].endswith("-provisioner")]
    assert chart[0]["from"][1]["podSelector"]["matchLabels"].items() <= pods["metadata"]["labels"].items()
    webhook = [rule for rule in ours if any(port["port"] == "webhook" for port in rule["ports"])]
    assert len(webhook) == 1
    assert webhook[0]["from"][0] == {"ipBlock": {"cidr": "192.0.2.0/24"}}
    assert webhook[0]["from"][1]["podSelector"]["matchLabels"]["app.kubernetes.io/component"] == "provisioner"
    assert [port["port"] for rule in ours for port in rule["ports"]] == ["webhook", "probes", "metrics"]
    # the chart's selector names the release, too
    chart[0]["from"][1]["podSelector"]["matchLabels"].pop("app.kubernetes.io/instance", None)
    assert chart == ours


def test_client_authorities_are_a_file_beside_the_configuration(tmp_path: Path, assets: Path) -> None:
    """Which the server's configuration names, and which its volume holds."""
    (tmp_path / "ca.crt").write_bytes(trustme.CA().cert_pem.bytes() + trustme.CA().cert_pem.bytes())
    flags = ["--set-file", f"webhook.clientCA={tmp_path / 'ca.crt'}", "--set", "webhook.clientNames={kube-apiserver,other}"]
    done = helm("template", RELEASE, str(CHART), "-n", NAMESPACE, "--kube-version", release_of(), *flags, home=tmp_path)
    assert done.returncode == 0, done.stderr
    objects = [each for each in yaml.safe_load_all(done.stdout) if each]
    [without] = [each for each in of_kind(charted(NAMESPACE), "ConfigMap") if each["metadata"]["name"].endswith("-config")]
    assert (list(without["data"]), "client" in without["data"]["config.yaml"]) == (["config.yaml"], False)
    [config] = [each for each in of_kind(objects, "ConfigMap") if each["metadata"]["name"].endswith("-config")]
    assert config["data"]["client-ca.crt"].strip() == (tmp_path / "ca.crt").read_text().strip()
    (tmp_path / "config.yaml").write_text(config["data"]["config.yaml"])
    webhook = load_configuration(str(tmp_path / "config.yaml"), {}).configuration.server.webhook
    assert webhook.client_names == ("kube-apiserver", "other")
    [server] = [each for each in of_kind(objects, "Deployment") if each["metadata"]["name"].endswith("-server")]
    [mount] = [each for each in server["spec"]["template"]["spec"]["containers"][0]["volumeMounts"] if each["name"] == "config"]
    assert webhook.client_ca == f"{mount['mountPath']}/client-ca.crt"


@pytest.mark.parametrize("value", ["webhook.clientCA=nonsense", "webhook.clientNames={a,}", "networkPolicy.controlPlane={10.0.0.1}"])
def test_what_is_no_authority_name_or_block_is_refused(assets: Path, value: str) -> None:
    assert value.partition("=")[0].rpartition(".")[2] in refused(value)
