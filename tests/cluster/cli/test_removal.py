"""What `doctor --uninstall-check` prints, run in its order, removes an installation and keeps the objects."""

from pathlib import Path

from dynamo_webhooks.api.crd import by_service
from dynamo_webhooks.api.kinds import KINDS
from dynamo_webhooks.api.line import Line
from dynamo_webhooks.cli.commands.crds import make_definitions
from tests.cluster.cli.doctoring import Doctor, patch
from tests.cluster.kubelet import installation
from tests.cluster.objects import graph, path_of
from tests.cluster.planes import Planes
from tests.cluster.provisioning import CRDS, NAMESPACE


def test_before_removal_what_would_lead_nowhere_is_named_and_objects_may_stay(planes: Planes, tmp_path: Path) -> None:
    """Its repairs, in the order in which they are printed, end in a cluster that keeps its objects and can be read."""
    made = make_definitions([kind.name for kind in KINDS], by_service(), Line.V1_2)
    with installation(planes, tmp_path, *made) as site:
        doctor = Doctor(site)
        doctor.until(lambda wrong: not wrong, "a healthy installation")
        _remove(doctor)


def _remove(doctor: Doctor) -> None:
    site = doctor.site
    obj = graph("default", name="left", spec={"backendFramework": "vllm"})
    obj["spec"]["services"]["w"]["componentType"] = "worker"
    site.plane.request("POST", path_of(obj), obj).done()
    for path in CRDS.values():  # as `migrate` leaves them, which takes minutes
        spec = site.plane.request("GET", path).body["spec"]
        [stored] = [each["name"] for each in spec["versions"] if each["storage"]]
        patch(site, f"{path}/status", {"status": {"storedVersions": [stored]}})
    spec = site.plane.request("GET", CRDS["dynamographdeployment"]).body["spec"]
    [[stored], [other]] = ([each["name"] for each in spec["versions"] if each["storage"] is storage] for storage in (True, False))
    seen: list[str] = []
    while findings := doctor.findings("--uninstall-check"):
        assert findings[0]["repair"] not in seen, findings[0]
        seen.append(findings[0]["repair"])
        doctor.shell(seen[-1])
    assert [each.partition(" ")[2].partition(" -p ")[0] for each in seen[:2]] == [
        f"delete {kind}webhookconfiguration dynamo-webhooks-{kind}" for kind in ("mutating", "validating")
    ]
    for part in ("provisioner", "reconciler"):
        assert f"kubectl -n {NAMESPACE} delete deployment dynamo-webhooks-{part}" in seen
    kept, lossy = (site.plane.request("GET", path_of({**obj, "apiVersion": f"nvidia.com/{each}"}, named=True)) for each in (stored, other))
    assert (kept.status, lossy.status) == (200, 404), "unconverted, the other version would lose fields"
    assert kept.body["spec"].get("services") or kept.body["spec"]["components"]
