"""`facts --cluster` on a real API server: what discovery, Deployments, ConfigMaps and Leases say, and what one who may not read is told."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from dynamo_webhooks.cli.main import main
from tests.cli.facts.installed import OURS, configuration
from tests.cluster.harness import ADMIN, USER, ControlPlane

PRINCIPAL: Final = "system:serviceaccount:{}:dynamo-webhooks-reconciler"


def gather(plane: ControlPlane, capsys: pytest.CaptureFixture[str], *flags: str, user: str = ADMIN) -> tuple[dict[str, Any], str]:
    """The facts of the file, and the file itself."""
    capsys.readouterr()
    code = main(["facts", "--cluster", "--kubeconfig", str(plane.kubeconfig), "--context", user, *flags])
    ran = capsys.readouterr()
    assert (code, "Traceback" in ran.err) == (0, False), ran.err
    return yaml.safe_load(ran.out), ran.out


def installed(plane: ControlPlane) -> str:
    """The namespace of an installation, whose namespace somebody has claimed besides."""
    namespace = plane.namespace()
    text = json.dumps(configuration(dra={"enabled": False}))
    config = {"name": "dynamo-webhooks-config", "namespace": namespace}
    renewed = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    claim = {"holderIdentity": "somebody", "leaseDurationSeconds": 600, "renewTime": renewed}
    plane.apply(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": config, "data": {"config.yaml": text}},
        {**OURS, "metadata": {**OURS["metadata"], "namespace": namespace}},
        {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": "dynamo-operator-namespace-scope", "namespace": namespace},
            "spec": claim,
        },
    )
    return namespace


def test_an_installation_is_told_and_its_file_is_one_that_check_takes(
    alpha: ControlPlane, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    namespace = installed(alpha)
    try:
        facts, text = gather(alpha, capsys, "-n", namespace)
        assert (facts["operatorScope"], facts["operatorVersion"]) == ("cluster", "1.2.0")
        assert facts["operatorPrincipal"] == PRINCIPAL.format(namespace)
        assert (facts["lws"], facts["istio"], facts["gpuDiscovery"]) == (False, False, True)
        assert facts["dra"] is False  # by its configuration, for resource.k8s.io/v1 is served
        assert namespace in facts["excludedNamespaces"]
        assert " is not known: " not in text
        (tmp_path / "facts.yaml").write_text(text)
        checked = main(
            ["check", str(Path(__file__).parents[2] / "manifests" / "base"), "--allow-empty", "--facts", str(tmp_path / "facts.yaml")]
        )
        assert checked == 0
    finally:
        alpha.kubectl("delete", "namespace", namespace, "--wait=false")
        alpha.kubectl("-n", namespace, "delete", "lease,deployment", "--all")


def test_what_may_not_be_read_is_unknown_with_the_servers_sentence(alpha: ControlPlane, capsys: pytest.CaptureFixture[str]) -> None:
    facts, text = gather(alpha, capsys, user=USER)
    assert (facts["operatorScope"], facts["excludedNamespaces"], facts["lws"], facts["dra"]) == (None, None, False, True)
    assert 'cannot list resource "leases"' in text
    hidden, redacted = gather(alpha, capsys, "--redact", user=USER)
    assert hidden == facts
    assert "cannot list" not in redacted
