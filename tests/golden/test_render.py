"""The recorded children of the Go operator 1.2: ours agree, or are listed with the oddity that we deliberately don't follow."""

import copy
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from dynamo_webhooks.reconciler.render.children import RenderedChildren, render
from dynamo_webhooks.reconciler.render.settings import Settings
from tests.golden.corpus import compare, compare_render, lines
from tests.reconciler.rendering import stored

SKIPS = Path(__file__).with_name("render-skips.txt")
FLAGS = ("plain", "lws", "grove")


class _Recorded:
    """The cases, each rendered once."""

    def __init__(self) -> None:
        self.cases = list(lines("render.ndjson.gz"))
        self.rendered = {case["id"]: _render(case) for case in self.cases}
        self.differing = {case["id"]: text for case in self.cases if (text := _difference(case, self.rendered[case["id"]]))}

    def of(self, flag: str) -> list[str]:
        """The ids of the cases of an orchestrator; plain ones have none."""
        flags = {case["id"]: [name for name in ("grove", "lws") if case["flags"][name]] for case in self.cases}
        return [name for name, on in flags.items() if flag == next(iter(on), "plain")]


@cache
def _recorded() -> _Recorded:
    return _Recorded()


def _render(case: dict[str, Any]) -> RenderedChildren:
    obj = stored(case["object"], version=case["operatorVersion"])
    return render(obj, Settings(**case["flags"], operator_version=case["operatorVersion"]))


def _difference(case: dict[str, Any], done: RenderedChildren, *, scripts: bool = True) -> str:
    theirs = compare_render()
    have = theirs.tidy(done.children, theirs.worker_hash(done.children))
    want = theirs.tidy(_ours_by_decision(case["object"], case["expect"]), None)
    if not scripts:
        have, want = _without_scripts(have), _without_scripts(want)
    differences = list(compare().diff(have, want))
    return "; ".join(differences[:3])[:600]


def _ours_by_decision(obj: dict[str, Any], recorded: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The recorded children but for four decisions.

    Planner accounts belong to planners, a model's Service to the graph, and a checkpoint's Job is kept until its end has been noted. A real
    Grove refuses a set with a group of no replicas: it is made with the fewest, and then scaled to none.
    """
    components = (obj.get("spec") or {}).get("components") or [*((obj.get("spec") or {}).get("services") or {}).values()]
    planned = any("planner" in (component.get("type"), component.get("componentType")) for component in components)
    out = []
    for child in recorded:
        name = str(child["metadata"]["name"])
        if name.startswith("planner-serviceaccount") and obj["kind"] == "DynamoGraphDeployment" and not planned:
            continue
        if name.startswith("dynamo-model-") and obj["kind"] == "DynamoGraphDeployment":
            owners = [{**owner, "kind": obj["kind"], "name": obj["metadata"]["name"]} for owner in child["metadata"]["ownerReferences"]]
            child = {**child, "metadata": {**child["metadata"], "ownerReferences": owners}}  # noqa: PLW2901 - a copy
        if child["kind"] == "Job":
            spec = {name: value for name, value in child["spec"].items() if name != "ttlSecondsAfterFinished"}
            child = {**child, "spec": spec}  # noqa: PLW2901 - a copy
        if child["kind"] == "PodCliqueSet":
            template = child["spec"]["template"]
            if any(group.get("replicas") == 0 for group in template.get("podCliqueScalingGroups") or ()):
                child = copy.deepcopy(child)  # noqa: PLW2901 - a copy
                for group in child["spec"]["template"]["podCliqueScalingGroups"]:
                    group["replicas"] = group.get("replicas") or group.get("minAvailable") or 1
        out.append(child)
    return out


def test_decisions_concern_only_what_they_name() -> None:
    """Most recorded graphs have a planner's account and no planner, and some a model's Service."""
    changed = [case for case in _recorded().cases if _ours_by_decision(case["object"], case["expect"]) != case["expect"]]
    kinds = {obj["kind"] for case in changed for obj in case["expect"] if obj not in _ours_by_decision(case["object"], case["expect"])}
    assert kinds == {"ServiceAccount", "RoleBinding", "Service", "Job", "PodCliqueSet"}


# the texts of generated scripts, which are our own (docs/decisions.md), and what of each is left to compare
_SCRIPTS = (
    re.compile(r"(?s)^(?:import|\"\"\").*LEADER_HOST.*$"),  # the file that waits for a leader
    re.compile(r"^(?:mkdir|install) .*/ssh-pk.* && (?=mpirun)"),  # keys and names before the leader's call
    re.compile(r"^(?:mkdir|install) .*/ssh-pk.* && (?=/usr/sbin/sshd -D -f)"),  # keys before the worker's call
    re.compile(r"(?<=^/usr/sbin/sshd -D -f ).*$"),  # the same path, with or without quotes
    re.compile(r"(?s)^rm -f /run/gms/shared/.*gpu_memory_service\.cli\.server.*$"),  # the weight server's
    re.compile(r"^(?:\[|test) .*/run/gms/shared.*gms_.* (?=-ge \d+)"),  # whether its sockets are there
    re.compile(r"(?<=-ge \d\d) \]$|(?<=-ge \d) \]$"),
)


def _without_scripts(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_scripts(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_scripts(item) for item in value]
    if isinstance(value, str):
        for script in _SCRIPTS:
            value = script.sub("", value)
    return value


@cache
def _listed() -> dict[str, str]:
    """Reason by case id."""
    lines = [line.split(maxsplit=1) for line in SKIPS.read_text().splitlines() if line.strip() and not line.startswith("#")]
    assert all(len(parts) == 2 and re.match(r"script: \S", parts[1]) for parts in lines), "a line is `id number: reason`"
    listed = dict(lines)
    assert len(listed) == len(lines), "an id is listed once"
    return listed


@pytest.mark.parametrize("flag", FLAGS)
def test_children_are_as_recorded_or_listed(flag: str) -> None:
    mine = _recorded().of(flag)
    wrong = [f"{id_}: {_recorded().differing[id_]}" for id_ in mine if id_ in _recorded().differing and id_ not in _listed()]
    assert mine, "no case has this orchestrator"
    assert not wrong, f"{len(wrong)} of {len(mine)} differ:\n" + "\n".join(wrong[:20])


def test_the_list_of_differences_is_current() -> None:
    """A listed case that agrees is taken off the list, so the list says what differs today."""
    assert sorted(_listed().keys() - _recorded().differing.keys()) == []


def test_cases_with_our_own_scripts_differ_in_nothing_else() -> None:
    mine = [case for case in _recorded().cases if _listed().get(case["id"], "").startswith("script")]
    assert mine, "no case is listed for its scripts"
    wrong = [f"{case['id']}: {text}" for case in mine if (text := _difference(case, _recorded().rendered[case["id"]], scripts=False))]
    assert not wrong, "\n".join(wrong)


def test_leaving_scripts_out_hides_nothing_else() -> None:
    """Words that stand in a script only by the way stay."""
    texts = ["--model", "exec python3 -m dynamo.vllm --node-rank 0", "sh", "gms-shared", "/run/gms/shared", "chmod 1777 /run/gms/shared"]
    assert [_without_scripts(text) for text in texts] == texts
    assert _without_scripts("install x /ssh-pk/private.key && mpirun -n 8") == "mpirun -n 8"
    assert _without_scripts('[ "$(ls /run/gms/shared | grep -c gms_)" -ge 16 ]') == "-ge 16"


def test_no_plain_case_is_listed() -> None:
    assert _listed().keys().isdisjoint(_recorded().of("plain"))


def test_what_is_rendered_as_recorded_has_no_problems() -> None:
    """A problem beside children that are all there would be a false alarm."""
    agreeing = [case["id"] for case in _recorded().cases if case["id"] not in _recorded().differing]
    assert [(id_, str(_recorded().rendered[id_].problems[0])) for id_ in agreeing if _recorded().rendered[id_].problems] == []
