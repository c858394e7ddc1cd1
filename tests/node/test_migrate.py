"""Stores objects in the other version and back, by the commands of docs/migration.md, while they are read and written."""

import re
from typing import Final

from tests.cluster.rendering import MANIFESTS
from tests.node.admin import Admin
from tests.node.cluster import Cluster
from tests.node.loading import loaded

DEFINITION: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/dynamographdeployments.nvidia.com"
PAGE: Final = (MANIFESTS.parent / "docs" / "migration.md").read_text()
JOB: Final = re.findall(r"^```sh\n# migrate: kustomize\n((?:.*\n)+?)^```$", PAGE, re.MULTILINE)
# seconds before the proof, instead of a minute, in which an API server ends every request that it has begun
SETTLE: Final = "--settle=5"
BACK: Final = re.findall(r"^## The way back\n\n```sh\n(.+)\n```$", PAGE, re.MULTILINE)


def _stored(cluster: Cluster) -> list[str]:
    versions: list[str] = cluster.plane.request("GET", DEFINITION).body["status"]["storedVersions"]
    return versions


def test_objects_are_stored_in_the_older_version_and_by_the_job_in_the_newer_again(cluster: Cluster, admin: Admin) -> None:
    [back], [job] = BACK, JOB
    admin.run(f"sed -i 's/- --to=v1beta1/&\\n            - {SETTLE}/' manifests/overlays/migrate/job.yaml")
    with loaded(cluster, "migration there and back") as load:
        report = admin.run(f"{back.strip()} {SETTLE}")
        assert _stored(cluster) == ["v1alpha1"], report
        report = admin.run(job)
        assert _stored(cluster) == ["v1beta1"], report
    assert load.failures == []
    jobs = [each["metadata"]["name"] for each in cluster.items("/apis/batch/v1/jobs")]
    assert jobs == []
