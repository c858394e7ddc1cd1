"""Validation gives the causes of an API server, in its words but without the values; those that were recorded, tests/golden compares."""

import copy
from typing import Any, Final

import pytest

from dynamo_webhooks.api.kinds import list_kind_versions
from dynamo_webhooks.api.line import Line
from dynamo_webhooks.api.schema import load_definitions, load_schema, resolve
from dynamo_webhooks.api.walk.errors import FieldError, Reason
from dynamo_webhooks.api.walk.validate import HINT, validate
from tests.api.admit import admit
from tests.api.test_crd import nodes

GRAPH = ("DynamoGraphDeployment", "v1alpha1")
BETA = ("DynamoGraphDeployment", "v1beta1")
HINTED = ("<nil>", "Invalid")


def refused(kind: tuple[str, str], spec: Any, old: Any = None, **metadata: Any) -> tuple[FieldError, ...]:
    def made(spec: Any) -> dict[str, Any]:
        return {"apiVersion": f"nvidia.com/{kind[1]}", "kind": kind[0], "metadata": {"name": "t", **metadata}, "spec": copy.deepcopy(spec)}

    return admit(made(spec), *kind, None if old is None else made(old)).errors


def causes(errors: tuple[FieldError, ...]) -> list[tuple[str, str]]:
    return [(error.field, error.reason.value.removeprefix("FieldValue")) for error in errors]


def service(**fields: Any) -> dict[str, Any]:
    return {"services": {"w": fields}}


def test_an_adapter_scales_to_what_a_server_takes_for_a_number_of_replicas() -> None:
    spec = {"replicas": 2**31, "dgdRef": {"name": "a", "serviceName": "b"}}
    assert causes(refused(("DynamoGraphDeploymentScalingAdapter", "v1alpha1"), spec)) == [(".spec.replicas", "Invalid")]


def test_metadata_is_checked_as_a_server_does() -> None:
    rows: list[tuple[dict[str, Any], list[tuple[str, str]]]] = [
        ({"name": "A b"}, [("metadata.name", "Invalid")]),
        ({"name": "a" * 254}, [("metadata.name", "Invalid")]),
        ({"name": "a" * 253}, []),
        ({"name": "a.-b"}, [("metadata.name", "Invalid")]),
        ({"name": ""}, [("metadata.name", "Required"), HINTED]),
        ({"name": "", "generateName": "a-"}, []),
        ({"name": "", "generateName": "a."}, [("metadata.generateName", "Invalid")]),
        ({"name": "", "generateName": "A-"}, [("metadata.name", "Invalid")]),
        ({"namespace": "A"}, [("metadata.namespace", "Invalid")]),
        ({"labels": {"a/b/c": "x"}}, [("metadata.labels", "Invalid")]),
        ({"labels": {"a": "A b"}}, [("metadata.labels", "Invalid")]),
        ({"labels": {"a": "x" * 64}}, [("metadata.labels", "Invalid")]),
        ({"labels": {"a.b/c": ""}}, []),
        ({"annotations": {"A/b": ""}}, []),
        ({"annotations": {"a b": ""}}, [("metadata.annotations", "Invalid")]),
        ({"annotations": {"a": "x" * 263_000}}, [("metadata.annotations", "TooLong"), HINTED]),
        ({"finalizers": ["a/b", "b c"]}, [("metadata.finalizers", "Invalid")]),
        ({"finalizers": ["orphan", "foregroundDeletion"]}, [("metadata.finalizers", "Invalid")]),
        (
            {"ownerReferences": [{"apiVersion": "a/b/c", "kind": "a", "name": "b", "uid": "u"}]},
            [("metadata.ownerReferences.apiVersion", "Invalid")],
        ),
        ({"ownerReferences": [{"apiVersion": "v1", "kind": "Event", "name": "b", "uid": "u"}]}, [("metadata.ownerReferences", "Invalid")]),
    ]
    assert [(metadata, expected, got) for metadata, expected in rows if (got := causes(refused(GRAPH, {}, **metadata))) != expected] == []


def test_the_words_are_the_servers_and_hold_no_value() -> None:
    errors = refused(
        GRAPH,
        {
            "backendFramework": "s3cret",
            "services": {"w": {"replicas": -77, "topologyConstraint": {"packDomain": "S3cret!"}, "envs": "s3cret"}},
        },
    )
    assert [error.message for error in errors] == [
        'Unsupported value: supported values: "sglang", "vllm", "trtllm"',
        "Invalid value: spec.services.w.replicas in body should be greater than or equal to 0",
        "Invalid value: spec.services.w.topologyConstraint.packDomain in body should match '^[a-z0-9]([a-z0-9-]*[a-z0-9])?$'",
        'Invalid value: spec.services.w.envs in body must be of type array: "string"',
        f"Invalid value: {HINT}",
    ]


def test_rules_say_their_message_and_id() -> None:
    (error,) = refused(GRAPH, service(sharedMemory={}))
    assert (error.path, error.rule) == (("spec", "services", "w", "sharedMemory"), "cel-shm-size")
    assert error.message == "Invalid value: size must be a positive quantity unless disabled is true"


UNCHANGED = service(replicas=-1, sharedMemory={})


def test_an_update_is_not_refused_for_what_it_did_not_touch() -> None:
    """E.g. a label on an object that was stored before its schema got stricter."""
    assert refused(GRAPH, UNCHANGED, UNCHANGED, labels={"a": "b"}) == ()


def test_an_update_is_refused_for_what_it_touched() -> None:
    changed = service(replicas=-2, sharedMemory={"disabled": False})
    assert causes(refused(GRAPH, changed, UNCHANGED)) == [
        ("spec.services.w.replicas", "Invalid"),
        ("spec.services[w].sharedMemory", "Invalid"),
    ]


def test_items_are_compared_by_key_or_not_at_all() -> None:
    """Items of a map-list are the same wherever they stand; other lists are the same only as a whole."""
    wrong = {"name": "w", "replicas": -1}
    assert refused(BETA, {"components": [{"name": "a"}, wrong]}, {"components": [wrong]}) == ()
    old, new = ({"pvcs": [*first, {"name": "x", "create": True}]} for first in ([], [{"name": "y"}]))
    assert refused(GRAPH, old, old) == ()
    assert causes(refused(GRAPH, new, old)) == [("spec.pvcs[1]", "Invalid")]


def test_a_list_in_which_a_switch_became_a_number_has_changed() -> None:
    """Though Python takes false for 0."""

    def mounts(flag: object) -> dict[str, Any]:
        return service(volumeMounts=[{"name": "a", "useAsCompilationCache": flag}])

    assert causes(refused(GRAPH, mounts(0), mounts(False))) == [
        ("spec.services.w.volumeMounts[0].useAsCompilationCache", "TypeInvalid"),
        ("<nil>", "Invalid"),
    ]
    assert refused(GRAPH, mounts(0), mounts(0)) == ()


def test_a_rule_that_cannot_be_evaluated_is_not_forgiven() -> None:
    spec = service(sharedMemory={"size": 5})
    assert causes(refused(GRAPH, spec, spec)) == [("spec.services[w].sharedMemory", "Invalid")]


def test_repeated_items_are_forgiven_where_the_old_object_had_some() -> None:
    def gms(*names: str) -> dict[str, Any]:
        return service(gpuMemoryService={"enabled": True, "extraClientContainers": list(names)})

    assert refused(GRAPH, gms("a", "a", "b", "b"), gms("a", "a")) == ()
    assert causes(refused(GRAPH, gms("a", "a"), gms("a"))) == [("spec.services[w].gpuMemoryService.extraClientContainers[1]", "Duplicate")]


def test_an_identity_may_not_change_in_an_update() -> None:
    def checkpoint(model: str) -> dict[str, Any]:
        return {"identity": {"model": model, "backendFramework": "vllm"}, "job": {"podTemplateSpec": {}}}

    kind = ("DynamoCheckpoint", "v1alpha1")
    assert refused(kind, checkpoint("a"), checkpoint("a")) == ()
    assert causes(refused(kind, checkpoint("b"), checkpoint("a"))) == [("<nil>", "Invalid")]


def test_every_format_of_the_schemas_is_checked_or_known_not_to_be() -> None:
    everything = [node for definition in load_definitions().values() for node in nodes(definition)]
    everything += [resolve(node) for pair in list_kind_versions() for node in nodes(load_schema(*pair, Line.V1_2))]
    known = {"date-time", "byte", "int32", "int64", "float", "double"}
    assert {node["format"] for node in everything if "format" in node} <= known


def test_embedded_types_carry_no_rule() -> None:
    """Rules are found without entering embedded types in the tests of twins, so there must be none."""
    assert not [name for name, definition in load_definitions().items() for node in nodes(definition) if "x-kubernetes-validations" in node]


def test_facets_that_no_schema_of_ours_has_today_work_too() -> None:
    """The walk serves any structural schema, so that a new facet is not skipped in silence."""
    schema: dict[str, Any] = {
        "type": "object",
        "minProperties": 2,
        "maxProperties": 2,
        "properties": {
            "metadata": {"type": "object"},
            "list": {"type": "array", "minItems": 1, "items": {"type": "string"}},
            "low": {"type": "number", "minimum": 1, "exclusiveMinimum": True},
            "high": {"type": "number", "maximum": 1, "exclusiveMaximum": True},
            "when": {"type": "string", "format": "date-time"},
            "either": {"anyOf": [{"minLength": 3}, {"pattern": "^a$"}]},
            "end": {"type": "string", "pattern": r"^[$]\$$"},
        },
    }

    def of(**fields: Any) -> list[tuple[str, str]]:
        return causes(tuple(validate({"metadata": {"name": "a"}, **fields}, schema)))

    assert of(list=[]) == [("list", "Invalid")]
    assert of(low=1) == [("low", "Invalid")]
    assert of(high=1) == [("high", "Invalid")]
    assert of(when="today") == [("when", "TypeInvalid")]
    assert of(either="bb") == [("<nil>", "Invalid")]
    assert of(end="$$\n") == [("end", "Invalid")]
    assert of(end="$$") == of(either="a") == of(low=1.1) == []
    assert of() == [("<nil>", "Invalid")]
    assert of(low=2, high=0)[0][1] == "TooMany"


def test_depth_is_no_danger(subtests: pytest.Subtests) -> None:
    """Parsers stop at about a thousand levels; twice that neither exhausts the stack nor passes."""
    for place in ("envs", "services", "annotations", "restart", "pvcs"):
        with subtests.test(place=place):
            lists: Any = []
            objects: Any = {}
            for _ in range(2_000):
                lists, objects = [lists], {"a": objects}
            assert admit({"metadata": {"name": "a"}, "spec": {place: lists}}, *GRAPH).errors
            answer = admit(
                {"metadata": {"name": "a"}, "spec": {place: objects}}, *GRAPH, {"metadata": {"name": "a"}, "spec": {place: lists}}
            )
            assert answer.errors or answer.pruned


def test_ten_thousand_services_have_each_their_errors() -> None:
    services = {f"w{index}": {"replicas": -1, "sharedMemory": {"size": "1"}} for index in range(10_000)}
    errors = refused(GRAPH, {"services": services})
    assert len(errors) == 10_002
    assert errors[0].message == "Too many: must have at most 25 items"


BETA_REQUEST: Final = ("DynamoGraphDeploymentRequest", "v1beta1")
# Metadata, and the place in it that is wrong.
WRONG: Final[list[tuple[Any, str]]] = [
    ("x", ""),
    ([], ""),
    (5, ""),
    ({"labels": 5}, ".labels"),
    ({"labels": []}, ".labels"),
    ({"labels": {"a": 1}}, ".labels[a]"),
    ({"annotations": {"a": True}}, ".annotations[a]"),
    ({"name": 5}, ".name"),
    ({"uid": 5}, ".uid"),
    ({"generation": "x"}, ".generation"),
    ({"generation": 1.5}, ".generation"),
    ({"deletionGracePeriodSeconds": "x"}, ".deletionGracePeriodSeconds"),
    ({"creationTimestamp": 5}, ".creationTimestamp"),
    ({"creationTimestamp": "zz"}, ".creationTimestamp"),
    ({"finalizers": "a"}, ".finalizers"),
    ({"finalizers": [5]}, ".finalizers[0]"),
    ({"ownerReferences": {}}, ".ownerReferences"),
    ({"ownerReferences": [{"name": 5}]}, ".ownerReferences[0].name"),
    ({"ownerReferences": [{"controller": "x"}]}, ".ownerReferences[0].controller"),
    ({"managedFields": 5}, ".managedFields"),
    ({"managedFields": [{"time": 5}]}, ".managedFields[0].time"),
    ({"name": "a", "labels": "x", "annotations": {"k": "v"}}, ".labels"),
]
# Metadata that a server takes, and what it makes of it.
TAKEN: Final[list[tuple[Any, Any]]] = [
    (None, {}),
    ({}, {}),
    ({"name": ""}, {}),
    ({"labels": None}, {}),
    ({"labels": {}}, {}),
    ({"labels": {"a": None}}, {"labels": {"a": ""}}),
    ({"unknown": 5}, {}),
]


def request(metadata: Any) -> dict[str, Any]:
    inside = {"apiVersion": "v1", "kind": "K", "metadata": metadata}
    spec = {"model": "m", "overrides": {"dgd": inside}}
    return {"apiVersion": "nvidia.com/v1beta1", "kind": BETA_REQUEST[0], "metadata": {"name": "t"}, "spec": spec}


def test_wrong_types_are_refused_inside_an_object_and_at_its_root(subtests: pytest.Subtests) -> None:
    """Nothing else is said then, as a server that could not decode says nothing else."""
    for metadata, place in WRONG:
        with subtests.test(str(metadata)):
            for obj, where in ((request(metadata), "spec.overrides.dgd.metadata"), ({**request({}), "metadata": metadata}, "metadata")):
                answer = admit(obj, *BETA_REQUEST)
                assert [(error.field, error.reason) for error in answer.errors] == [(where + place, Reason.TYPE_INVALID)]
                assert answer.errors[0].message.startswith("must be ")


def test_what_stands_for_absent_is_taken(subtests: pytest.Subtests) -> None:
    for metadata, left in TAKEN:
        with subtests.test(str(metadata)):
            answer = admit(request(metadata), *BETA_REQUEST)
            assert answer.errors == ()
            assert answer.object["spec"]["overrides"]["dgd"]["metadata"] == left


def test_metadata_of_templates_is_the_schemas_business() -> None:
    """Pod templates are no embedded objects: their labels are checked by the schema, with its own causes."""
    spec = {"services": {"w": {"extraPodMetadata": {"labels": {"a": 1}}}}}
    obj = {"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoGraphDeployment", "metadata": {"name": "t"}, "spec": spec}
    errors = admit(obj, "DynamoGraphDeployment", "v1alpha1").errors
    assert errors[0].field == "spec.services.w.extraPodMetadata.labels.a"
