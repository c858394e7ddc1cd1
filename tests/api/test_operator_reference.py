"""The configuration file of the Go operator, key by key: each is known with the default that it has there, or with another for a reason.

The table was written by hand from the Go operator 1.2. Values that are taken and refused: test_operator.py.
"""

from typing import Any, Final

import pytest

from dynamo_webhooks.api.operator.configuration import OWN, OperatorConfiguration, leaves
from dynamo_webhooks.api.operator.section import dump
from dynamo_webhooks.api.paths import MISSING, lookup

ANY: Final = "0.0.0.0"  # noqa: S104 - the reference's default, listened on by nobody here
# "" where the reference's default is empty
REFERENCE: Final[dict[str, Any]] = {
    "apiVersion": "operator.config.dynamo.nvidia.com/v1alpha1",
    "kind": "OperatorConfiguration",
    "server.metrics.bindAddress": ANY,
    "server.metrics.port": 8080,
    "server.metrics.secure": True,
    "server.healthProbe.bindAddress": ANY,
    "server.healthProbe.port": 8081,
    "server.webhook.host": ANY,
    "server.webhook.bindAddress": "",
    "server.webhook.port": 9443,
    "server.webhook.certDir": "/tmp/k8s-webhook-server/serving-certs",  # noqa: S108 - read by nobody here
    "server.webhook.certProvisionMode": "auto",
    "server.webhook.secretName": "webhook-server-cert",
    "server.webhook.serviceName": "",
    "leaderElection.enabled": False,
    "leaderElection.id": "",
    "leaderElection.namespace": "",
    "namespace.restricted": "",
    "namespace.scope.leaseDuration": "30s",
    "namespace.scope.leaseRenewInterval": "10s",
    "orchestrators.grove.enabled": None,
    "orchestrators.grove.terminationDelay": "15m",
    "orchestrators.lws.enabled": None,
    "orchestrators.kaiScheduler.enabled": None,
    "dra.enabled": None,
    "infrastructure.natsAddress": "",
    "infrastructure.etcdAddress": "",
    "infrastructure.modelExpressURL": "",
    "infrastructure.prometheusEndpoint": "",
    "ingress.virtualServiceGateway": "",
    "ingress.controllerClassName": "",
    "ingress.controllerTLSSecretName": "",
    "ingress.hostSuffix": "",
    "serviceMesh.provider": "",
    "serviceMesh.istio.tlsMode": "SIMPLE",
    "serviceMesh.istio.insecureSkipVerify": True,
    "serviceMesh.istio.clientCertificate": "",
    "serviceMesh.istio.privateKey": "",
    "serviceMesh.istio.caCertificates": "",
    "rbac.plannerClusterRoleName": "",
    "rbac.dgdrProfilingClusterRoleName": "",
    "rbac.eppClusterRoleName": "",
    "mpi.sshSecretName": "",
    "mpi.sshSecretNamespace": "",
    "checkpoint.enabled": False,
    "checkpoint.seccomp.disabled": False,
    "checkpoint.seccomp.profile": "profiles/block-iouring.json",
    "checkpoint.storage.type": "",
    "checkpoint.storage.pvc.pvcName": "",
    "checkpoint.storage.pvc.basePath": "",
    "checkpoint.storage.pvc.create": False,
    "checkpoint.storage.pvc.size": "",
    "checkpoint.storage.pvc.storageClassName": "",
    "checkpoint.storage.pvc.accessMode": "",
    "checkpoint.storage.s3.uri": "",
    "checkpoint.storage.s3.credentialsSecretRef": "",
    "checkpoint.storage.oci.uri": "",
    "checkpoint.storage.oci.credentialsSecretRef": "",
    "discovery.backend": "kubernetes",
    "gpu.discoveryEnabled": True,
    "logging.level": "info",
    "logging.format": "json",
    "security.enableHTTP2": False,
}
# ours is another one, and why
OTHERWISE: Final = {
    "server.webhook.host": ("", "all addresses, IPv6 too"),
    "server.webhook.certProvisionMode": ("managed", "the honest name of `auto`, which is taken as well"),
    "server.webhook.serviceName": ("dynamo-webhooks", "an empty name makes certificates for nobody"),
}
# keys of the later line 1.5, absent in 1.2
LATER: Final = {
    "orchestrators.volcanoScheduler.enabled",
    "serviceMesh.enabled",
    "checkpoint.cleanupImage",
    "lpx.enabled",
    "lpx.modelRegistryURL",
}
# keys of ours within sections of the reference
ADDED: Final = {
    "checkpoint.onReady",
    "checkpoint.fallback",
    "server.metrics.namespaceLabel",
    "namespace.scope.grace",
    "namespace.scope.maxSkew",
    "gpu.metricsEndpointTemplate",
    "namespace.allowed",
    "server.webhook.clientCA",
    "server.webhook.clientNames",
}


@pytest.mark.parametrize("key", REFERENCE)
def test_its_default_is_that_of_the_reference_or_another_for_a_reason(key: str) -> None:
    found = lookup(dump(OperatorConfiguration()), tuple(key.split(".")))
    assert found is not MISSING
    assert found == (OTHERWISE[key][0] if key in OTHERWISE else REFERENCE[key])


def test_no_key_of_the_reference_is_missing_and_ours_stand_apart() -> None:
    known = {".".join(key) for key, _ in leaves()}
    assert known >= REFERENCE.keys()
    assert {key for key in known - REFERENCE.keys() if key.split(".")[0] not in OWN} == ADDED | LATER
