"""The recorded passes of controllers through `render`: a file holds the object and what the cluster had, the configuration is its own."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any, Final

import pytest
import yaml

from dynamo_webhooks.reconciler.checkpoint.standing import ANY_IMAGE
from tests.cli.daemon import CONFIG
from tests.golden import test_requests as requests
from tests.golden.corpus import cases, compare, compare_render

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.cli.conftest import Command, Files

pytestmark = pytest.mark.golden
ALL_SECRETS: Final = {"secrets": {"pull": "all", "namespaces": ["demo"]}}
KNOWN: Final = [word for name in ("grove", "lws", "istio") for word in ("--set-fact", f"{name}=false")]
_LONGEST_PATH: Final = "of several addresses that an image is at, the longest counts, as for the kubelet"
# differences on purpose -> reason
DIFFERENT: Final[Mapping[str, Mapping[str, str]]] = {
    "pull-secrets": {
        "ps-hub": "an image of Docker Hub gets the Secret of Docker Hub",
        "ps-hub2": "an image without a host is of Docker Hub, whatever its first part",
        "ps-hub3": "all names of Docker Hub are one",
        "ps-dockercfg": "Secrets of the older type count, too",
        "ps-wildcard": "`*` stands for a label of a host, as for the kubelet",
        "ps-subpath": _LONGEST_PATH,
        "ps-init": "images of init containers are pulled, too",
        "ps-broken": "a Secret that can't be read has no effect on others",
        "ps-emptyauth": "as ps-broken",
    },
    "checkpoint-job": {
        "cj-028": "an upper-case version makes no name of a Job, which an API server refuses",
        "cj-029": "as cj-028, of a blank",
        "cj-044": "a claim that the file lacks is not known to be absent",
        "cj-059": "a name of a claim with blanks around it is refused where the configuration is read",
    },
    "restore": {
        "re-daemonset-none": "without an agent pods start cold",
        "re-identity-two": "of several of one identity the oldest counts",
        "re-gms-onlyck-gate": "a component that shares no GPUs is not restored from a snapshot of one that does",
        "re-pvc-missing": "a claim that the file lacks is not known to be absent",
    },
    "profiling-job": {name: reason for name, reason in requests.DIFFERENT.items() if name.startswith("pj-")}
    | {
        "pj-002": "the webhook's default image is filled in, as in a cluster",
        **dict.fromkeys(("pj-005", "pj-014", "pj-037", "pj-045", "pj-047"), "the schema's defaults are filled in, as in a cluster"),
    },
}
CASES: Final = {case["id"]: case for kind in DIFFERENT for case in cases("controllers.ndjson.gz", kind)}


def rendered(command: Command, files: Files, case: dict[str, Any]) -> list[dict[str, Any]]:
    """What the command makes of a case, as one file and one configuration."""
    own = ALL_SECRETS if case["kind"] == "pull-secrets" else {}
    gates = {"featureGates": {"gmsSnapshot": True}} if case.get("flags", {}).get("gate") else {}
    if case["kind"] == "restore":
        case["object"]["metadata"]["annotations"] = {ANY_IMAGE: "true"}  # the recorded operator doesn't compare images
    if case["kind"] == "profiling-job":
        own = {"requests": {"copierImage": "dynamo-webhooks:1"}}
    config = {**yaml.safe_load(CONFIG), **(case.get("config") or {}), **own, **gates}
    items = [case["object"], *case.get("others", ())]
    folder = files(case=json.dumps({"apiVersion": "v1", "kind": "List", "items": items}), config=json.dumps(config))
    words = ("render", "-q", "-o", "json", *KNOWN, "--set-fact", "operatorVersion=1.2.0", "--config", f"{folder}/config.yaml")
    ran = command(*words, f"{folder}/case.yaml")
    found: list[dict[str, Any]] = ran.json if ran.out else []  # nothing is printed where the configuration is refused
    return found


def _of_the_object(made: list[dict[str, Any]], case: dict[str, Any]) -> list[dict[str, Any]]:
    """Of all children of a file those of the object of the case; its claims and checkpoints' Jobs are others'."""
    name = case["object"]["metadata"]["name"]
    return [one for one in made if any(owner["name"] == name for owner in one["metadata"].get("ownerReferences", ()))]


def _of_its_graph(expected: list[dict[str, Any]]) -> Any:
    """What was recorded of a component without its graph, which took its own name for the graph's."""
    text = json.dumps(expected).replace("g-worker-HASH0000-k8s", "g-k8s").replace('"value": "g-worker-HASH0000"', '"value": "g"')
    return json.loads(text.replace('"demo-g-worker-HASH0000"', '"demo-g"').replace("g-worker-HASH0000-worker-gpu", "g-worker-gpu"))


def difference(have: list[dict[str, Any]], case: dict[str, Any]) -> list[str]:
    """Where children differ from the recorded ones; of cases about pull secrets, where these do."""
    if case["kind"] == "pull-secrets":
        mine, recorded = (next(one for one in children if one["kind"] == "Deployment") for children in (have, case["expect"]))
        pods = [one["spec"]["template"]["spec"].get("imagePullSecrets") or [] for one in (mine, recorded)]
        return [] if pods[0] == pods[1] else [f"{pods[0]}, recorded {pods[1]}"]
    for job in (one for one in case["expect"] if one["kind"] == "Job" and case["kind"] == "checkpoint-job"):
        job["spec"].pop("ttlSecondsAfterFinished", None)  # set when the end has been noted
    if case["kind"] == "restore":
        have, case["expect"] = _of_the_object(have, case), _of_its_graph(case["expect"])
    if case["kind"] == "profiling-job":
        case = requests.as_we_read_products(case)
        have, case["expect"] = ([requests.plain(one, case) for one in each if one["kind"] == "Job"] for each in (have, case["expect"]))
    theirs = compare_render()
    return list(compare().diff(theirs.tidy(have, None), theirs.tidy(case["expect"], None)))


@pytest.mark.parametrize("name", CASES)
def test_a_recorded_case(command: Command, files: Files, name: str) -> None:
    case = copy.deepcopy(CASES[name])
    found = difference(rendered(command, files, case), case)
    assert bool(found) == (name in DIFFERENT[case["kind"]]), found[:5]
