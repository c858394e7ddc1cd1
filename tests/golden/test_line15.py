"""The recorded writes of operator line 1.5 through an API server: `check`'s engine answers the same, but for the listed differences."""

import copy
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from dynamo_webhooks.admission.pipeline import Admission
from dynamo_webhooks.api.line import Line
from dynamo_webhooks.conversion.lens.protocol import ConversionError
from dynamo_webhooks.conversion.objects import convert_object, target
from dynamo_webhooks.policies.annotations import WORKLOAD_PROVIDER
from dynamo_webhooks.policies.answer import is_refused
from dynamo_webhooks.policies.catalogue import find_rule
from dynamo_webhooks.policies.facts import Facts, facts_from
from dynamo_webhooks.policies.review import UPDATE
from dynamo_webhooks.policies.rule import Level
from tests.admission.writes import defaulted, sent
from tests.golden.corpus import cases, compare, corpus_file

DECIDED = (200, 201, 403, 409, 422)  # codes of recorded answers that are verdicts
SERVER = ("managedFields", "uid", "creationTimestamp", "generation", "resourceVersion", "selfLink")
SKIPS = Path(__file__).with_name("line15-skips.txt")
RELEASED = Path(__file__).with_name("line15-released.txt")
OBJECT = "object:"  # a listed case whose verdict agrees, and whose answered object differs


@cache
def facts() -> Facts:
    """What the recorded server had; the gate of checkpoints was open."""
    return facts_from({**yaml.safe_load(corpus_file("context-15.yaml").read_text()), "checkpoint": True})


def listed(*files: Path) -> dict[str, str]:
    """Cases in which we differ, with the reason; of all files unless some are named."""
    lines = [line for file in files or (SKIPS, RELEASED) for line in file.read_text().splitlines() if line and not line.startswith("#")]
    return {name: reason for name, _, reason in (line.partition(" ") for line in lines)}


def refused(write: Admission) -> list[str]:
    """Takes a write through all stages as an API server would; what refuses it, by name."""
    if write.decode_metadata():
        return ["metadata"]
    write.shape()
    if errors := write.decode():
        return [f"wrong-type {errors[0].path}"]
    try:
        if write.mutated:
            write.mutate()
        if problems := write.conform():
            return [f"schema {problems[0]}"]
        findings = write.judge()
    except ConversionError as error:
        return [f"conversion {error}"]
    return [finding.rule.name for finding in findings] if is_refused(findings) else []


def stored(obj: dict[str, Any], version: str) -> dict[str, Any]:
    """The object before an update as the recorded server stored it, in the version of the update."""
    before = defaulted(obj, facts=facts(), user="admin").object
    if obj["apiVersion"] == version:
        return before
    converted: dict[str, Any] = dict(convert_object(before, target(version, line=Line.V1_2)).object)
    return converted


def replayed(case: dict[str, Any]) -> tuple[list[str], dict[str, Any]]:
    """What refuses the case, and the object as it would be answered."""
    new = case["object"]
    old = stored(case["old"], new["apiVersion"]) if case["operation"] == UPDATE else None
    write = sent(new, old, facts=facts(), user=case.get("user") or "admin")
    return refused(write), write.object


def comparable(obj: dict[str, Any]) -> Any:
    """The object without what the server writes, and in the form in which a conversion there and back leaves v1alpha1."""
    obj = copy.deepcopy(obj)
    obj.pop("status", None)
    for name in SERVER:
        obj["metadata"].pop(name, None)
    annotations = obj["metadata"].get("annotations") or {}
    for name in compare().RESERVED & annotations.keys():
        del annotations[name]
    spec = obj.get("spec") or {}
    for component in (*(spec.get("services") or {}).values(), spec):
        _stored_form(component)
    return compare().normalise(obj)


def _stored_form(component: dict[str, Any] | None) -> None:
    """The recorded server stored v1beta1, where a role is one word and a switched-off block has no switch."""
    if component is None:
        return
    if component.get("componentType") in ("prefill", "decode") and "subComponentType" not in component:
        component |= {"componentType": "worker", "subComponentType": component["componentType"]}
    for name in ("scalingAdapter", "checkpoint", "ingress", "gpuMemoryService", "failover", "autoscaling"):
        block = component.get(name)
        if isinstance(block, dict) and block.get("enabled") is False:
            del block["enabled"]


def is_restored(case: dict[str, Any]) -> bool:
    """Whether an update was refused because it omits what only the operator writes, which our defaults restore (mut-min-available and
    mut-workload-provider in docs/differences.md).
    """
    note = str(case["expect"].get("note"))
    return case["operation"] == UPDATE and ("minAvailable is immutable" in note or WORKLOAD_PROVIDER in note)


def is_of_pods(names: list[str]) -> bool:
    """Whether a write is refused for its pods alone, which the API server refuses later (pod-refused in docs/differences.md)."""
    errors = {name for name in names if (rule := find_rule(name)) is None or rule.level is Level.ERROR}
    return bool(errors) and errors <= {"pod-refused", "pod-ends-off-grove", "ckpt-pod-refused", "dgdr-pod-refused"}


def test_writes_of_line_1_5_are_answered_as_recorded() -> None:
    differing, seen, restored, of_pods, apart = [], 0, 0, 0, listed()
    unused = set(apart)
    for case in cases("line15.ndjson.gz", "api"):
        if case["expect"]["code"] not in DECIDED:
            continue
        seen += 1
        names, answered = replayed(case)
        wrong = ""
        if bool(names) is case["expect"]["accepted"]:
            wrong = f"expected accepted={case['expect']['accepted']}, found {names}"
        elif not names and (differences := list(compare().diff(comparable(answered), comparable(case["expect"]["object"])))):
            wrong = f"{OBJECT} {differences[:2]}"
        if wrong and not names and is_restored(case):
            restored += 1
        elif wrong and case["expect"]["accepted"] and is_of_pods(names):
            of_pods += 1
        elif wrong and case["id"] in unused:
            unused.remove(case["id"])
        elif wrong:
            differing.append(f"{case['id']} {wrong}")
    assert not differing, f"{len(differing)} of {seen} differ:\n" + "\n".join(differing[:40])
    assert not unused, f"listed, but agrees: {sorted(unused)}"
    assert (restored, of_pods) == (215, 40)
    assert len([reason for reason in listed(SKIPS).values() if not reason.startswith(OBJECT)]) <= seen // 100
