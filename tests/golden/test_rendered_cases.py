"""The recorded passes of controllers through `render`: a file holds the object and what the cluster had, the configuration is its own."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any, Final

import pytest
import yaml

from tests.cli.daemon import CONFIG
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
}
CASES: Final = {case["id"]: case for kind in DIFFERENT for case in cases("controllers.ndjson.gz", kind)}


def rendered(command: Command, files: Files, case: dict[str, Any]) -> list[dict[str, Any]]:
    """What the command makes of a case, as one file and one configuration."""
    own = ALL_SECRETS if case["kind"] == "pull-secrets" else {}
    gates = {"featureGates": {"gmsSnapshot": True}} if case.get("flags", {}).get("gate") else {}
    config = {**yaml.safe_load(CONFIG), **(case.get("config") or {}), **own, **gates}
    items = [case["object"], *case.get("others", ())]
    folder = files(case=json.dumps({"apiVersion": "v1", "kind": "List", "items": items}), config=json.dumps(config))
    words = ("render", "-q", "-o", "json", *KNOWN, "--set-fact", "operatorVersion=1.2.0", "--config", f"{folder}/config.yaml")
    ran = command(*words, f"{folder}/case.yaml")
    found: list[dict[str, Any]] = ran.json if ran.out else []  # nothing is printed where the configuration is refused
    return found


def difference(have: list[dict[str, Any]], case: dict[str, Any]) -> list[str]:
    """Where children differ from the recorded ones; of cases about pull secrets, where these do."""
    if case["kind"] == "pull-secrets":
        mine, recorded = (next(one for one in children if one["kind"] == "Deployment") for children in (have, case["expect"]))
        pods = [one["spec"]["template"]["spec"].get("imagePullSecrets") or [] for one in (mine, recorded)]
        return [] if pods[0] == pods[1] else [f"{pods[0]}, recorded {pods[1]}"]
    for job in (one for one in case["expect"] if one["kind"] == "Job" and case["kind"] == "checkpoint-job"):
        job["spec"].pop("ttlSecondsAfterFinished", None)  # set when the end has been noted
    theirs = compare_render()
    return list(compare().diff(theirs.tidy(have, None), theirs.tidy(case["expect"], None)))


@pytest.mark.parametrize("name", CASES)
def test_a_recorded_case(command: Command, files: Files, name: str) -> None:
    case = copy.deepcopy(CASES[name])
    found = difference(rendered(command, files, case), case)
    assert bool(found) == (name in DIFFERENT[case["kind"]]), found[:5]
