"""A control plane that comes back is empty for the next block, and definitions written into etcd judge as those that were applied."""

from dynamo_webhooks.api.crd import build
from dynamo_webhooks.api.kinds import ALPHA
from dynamo_webhooks.api.line import Line
from tests.cluster.definitions import install
from tests.cluster.harness import ControlPlane
from tests.cluster.objects import make, path_of
from tests.cluster.planes import Planes
from tests.cluster.processes import wait_until

NAME = "forbidden"
RULE = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"], "resourceNames": [NAME]}
SPECS = {
    "ValidatingAdmissionPolicy": {"matchConstraints": {"resourceRules": [RULE]}, "validations": [{"expression": "false"}]},
    "ValidatingAdmissionPolicyBinding": {"policyName": NAME, "validationActions": ["Deny"]},
}


def _tried(plane: ControlPlane) -> int:
    """The status of what the policy forbids."""
    return plane.request("POST", "/api/v1/namespaces/default/configmaps?dryRun=All", {"metadata": {"name": NAME}}).status


def test_what_a_block_left_is_gone_and_no_longer_in_force(planes: Planes) -> None:
    model = make("MODEL", ALPHA, "default", {"modelName": "a", "baseModelName": "b"})
    wrong = make("MODEL", ALPHA, "default", {"modelName": 7, "baseModelName": "b"})
    with planes.lend() as plane:
        install(plane, build("DynamoModel", line=Line.V1_2))
        before, namespace = plane.server, plane.namespace()
        assert [plane.request("POST", path_of(each), each).status for each in (model, wrong)] == [201, 422]
        for kind, spec in SPECS.items():
            plane.apply({"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": NAME}, "spec": spec})
        wait_until(lambda: _tried(plane) == 422, "the policy being in force", plane.server)
    with planes.lend() as plane:
        assert plane.server is before
        assert plane.versions() == set()
        assert plane.request("GET", f"/api/v1/namespaces/{namespace}").status == 404
        assert _tried(plane) == 201
        install(plane, build("DynamoModel", line=Line.V1_2))
        assert plane.request("GET", path_of(model)).body["items"] == []
        assert [plane.request("POST", path_of(each), each).status for each in (model, wrong)] == [201, 422]
