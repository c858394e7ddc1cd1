"""The CustomResourceDefinitions are complete, self-contained and small enough to be applied by any client.

What one would take away from another is known, and the policy on the definitions concerns ours alone; what it refuses: tests/cluster.
"""

import re
from collections.abc import Iterator
from typing import Any, Final, TypeAlias

import pytest

from dynamo_webhooks.api.crd import ALLOW_DATA_LOSS, GENERATED_BY, build, by_service, by_url, inline, manifest
from dynamo_webhooks.api.definition_guard import COMPARED_LEVELS, PROVISIONER, policy
from dynamo_webhooks.api.kinds import KINDS, list_kind_versions
from dynamo_webhooks.api.line import NEWEST, Line
from dynamo_webhooks.api.lost_fields import find_lost_fields
from dynamo_webhooks.api.schema import load_schema

Node: TypeAlias = dict[str, Any]
LAST_APPLIED_LIMIT: Final = 262_144  # bytes of an annotation, which `kubectl apply` fills with the whole object


def nodes(node: Node) -> Iterator[Node]:
    """Yields a node and all below it, without entering embedded types."""
    yield node
    for member in node.get("properties", {}).values():
        yield from nodes(member)
    for key in ("items", "additionalProperties"):
        if key in node:
            yield from nodes(node[key])


def crd_nodes(crd: Node) -> Iterator[Node]:
    for version in crd["spec"]["versions"]:
        yield from nodes(version["schema"]["openAPIV3Schema"])


# What kubectl shows of each kind and version, and how it is kept: a row a version, as in the definitions of the Go
# operator 1.2, which show no message of graphs and components.
# Columns are header=path, where `@Ready` stands for the status of that condition and `@Ready.reason` for another member of it.
COLUMNS: Final = """\
dgd   v1alpha1 stored deprecated status        Ready=@Ready Backend=.spec.backendFramework Age Message=@Ready.message
dgd   v1beta1  -      -          status        Ready=@Ready Backend=.spec.backendFramework Age Message=@Ready.message
dcd   v1alpha1 stored deprecated status        DynamoComponent=.spec.dynamoComponent Available=@Available \
    Backend=.spec.backendFramework Age Message=@Available.message
dcd   v1beta1  -      -          status        Available=@Available Backend=.spec.backendFramework Age Message=@Available.message
dgdr  v1alpha1 -      deprecated status        Model=.spec.model Backend=.status.backend State=.status.state \
    DGD-State=.status.deployment.state Age
dgdr  v1beta1  stored -          status        Model=.spec.model Backend=.spec.backend Phase=.status.phase \
    Profiling=.status.profilingPhase Reason=@Succeeded.reason Message=@Succeeded.message DGD=.status.dgdName Age
dgdsa v1alpha1 stored deprecated status,scale  DGD=.spec.dgdRef.name SERVICE=.spec.dgdRef.serviceName REPLICAS=.status.replicas AGE
dgdsa v1beta1  -      -          status,scale  DGD=.spec.dgdRef.name COMPONENT=.spec.dgdRef.componentName REPLICAS=.status.replicas AGE
dckpt v1alpha1 stored -          status        Model=.spec.identity.model Backend=.spec.identity.backendFramework Phase=.status.phase \
    Hash=.status.identityHash Age
dm    v1alpha1 stored -          status        BaseModel=.spec.baseModelName Type=.spec.modelType Ready=.status.readyEndpoints \
    Total=.status.totalEndpoints Age
dwm   v1alpha1 stored -          -             Age
"""


def _row(crd: Node, version: Node) -> str:
    """A version in the words of the table above."""
    columns = []
    for column in version["additionalPrinterColumns"]:
        path = re.sub(r'\.status\.conditions\[\?\(@\.type=="(\w+)"\)\]\.(\w+)', r"@\1.\2", column["jsonPath"]).removesuffix(".status")
        columns.append(column["name"] if path == ".metadata.creationTimestamp" else f"{column['name']}={path}")
    marks = ["stored" if version["storage"] else "-", "deprecated" if version.get("deprecated") else "-"]
    return " ".join(
        [*crd["spec"]["names"]["shortNames"], version["name"], *marks, ",".join(version.get("subresources", {})) or "-", *columns]
    )


def test_versions_are_kept_and_shown_as_specified() -> None:
    """Stored and deprecated versions, subresources, short names and printer columns of every kind; all of them are served."""
    made = [(build(kind.name, line=Line.V1_2), kind) for kind in KINDS if kind.is_of(Line.V1_2)]
    versions = [(crd, index) for crd, kind in made for index in range(len(kind.versions))]
    rows = [_row(crd, crd["spec"]["versions"][index]) for crd, index in versions]
    assert rows == [" ".join(line.split()) for line in COLUMNS.splitlines()]
    assert all(crd["spec"]["versions"][index]["served"] for crd, index in versions)


def test_columns_show_fields_that_exist() -> None:
    """Each path leads through the schema, but for one that is empty since before v1alpha1 and kept for those who count columns."""
    for kind in KINDS:
        for version in build(kind.name, line=NEWEST)["spec"]["versions"]:
            for column in version["additionalPrinterColumns"]:
                if column["jsonPath"] in (".metadata.creationTimestamp", ".spec.dynamoComponent") or kind.alias == "CAND":
                    continue
                node = version["schema"]["openAPIV3Schema"]
                for part in column["jsonPath"].split("[")[0].strip(".").split("."):
                    node = node["properties"][part]
                assert node["type"] == ("array" if "[" in column["jsonPath"] else column["type"]), (kind.name, column)


def test_definitions_are_complete(subtests: pytest.Subtests) -> None:
    """Names and scope are there; no reference is left, and every node has a type the API server takes."""
    for kind in KINDS:
        with subtests.test(kind.alias):
            crd = build(kind.name, line=Line.V1_2)
            spec = crd["spec"]
            assert crd["metadata"]["name"] == f"{kind.plural}.nvidia.com"
            assert spec["names"]["kind"] == kind.name
            assert spec["scope"] == "Namespaced"
            assert "conversion" not in spec
            for node in crd_nodes(crd):
                assert "$ref" not in node
                assert "type" in node or node.get("x-kubernetes-int-or-string") or node.get("x-kubernetes-preserve-unknown-fields")


def test_nothing_empty_is_said(subtests: pytest.Subtests) -> None:
    """The API server leaves empty lists and maps out when it stores a definition, so a second apply would find a change."""
    for kind in KINDS:
        with subtests.test(kind.alias):
            for node in crd_nodes(build(kind.name, line=Line.V1_2)):
                assert {key: value for key, value in node.items() if value in ([], {}, "") and key != "default"} == {}


def test_the_scale_subresource_names_fields_that_exist() -> None:
    """Autoscalers write the wanted and read the seen number of replicas, and the selector of the pods."""
    for version in build("DynamoGraphDeploymentScalingAdapter", line=Line.V1_2)["spec"]["versions"]:
        scale, schema = version["subresources"]["scale"], version["schema"]["openAPIV3Schema"]["properties"]
        assert scale == {
            "specReplicasPath": ".spec.replicas",
            "statusReplicasPath": ".status.replicas",
            "labelSelectorPath": ".status.selector",
        }
        kinds = [schema["spec"]["properties"]["replicas"], *(schema["status"]["properties"][name] for name in ("replicas", "selector"))]
        assert [node["type"] for node in kinds] == ["integer", "integer", "string"]


def own_fields(node: Node, path: str = "") -> Iterator[tuple[str, Node]]:
    """The members of a schema that are ours, with their paths; Kubernetes' types are yielded and not entered."""
    for name, member in node.get("properties", {}).items():
        yield f"{path}{name}", member
        yield from own_fields(member, f"{path}{name}.") if "$ref" not in member else ()
    for key in ("items", "additionalProperties"):
        if isinstance(node.get(key), dict) and "$ref" not in node[key]:
            yield from own_fields(node[key], f"{path}[].")


def test_every_field_of_our_own_is_described_and_no_other(subtests: pytest.Subtests) -> None:
    """`kubectl explain` has a sentence for each; in Kubernetes' types they would make the definitions several times as large."""
    for kind, version in list_kind_versions():
        with subtests.test(kind=kind, version=version):
            schema = load_schema(kind, version, NEWEST)
            fields = {path: node for path, node in own_fields(schema) if path != "metadata"}
            assert {path for path, node in fields.items() if not re.fullmatch(r"[A-Z].{9,}\.", node.get("description", ""))} == set()
            (built,) = (
                each["schema"]["openAPIV3Schema"] for each in build(kind, line=NEWEST)["spec"]["versions"] if each["name"] == version
            )
            assert len(built["description"]) > 20
            for node in nodes(schema):
                if "$ref" in node:
                    inside = [each for each in nodes(inline(node)) if "description" in each]
                    assert len(inside) <= 1 + ("mainContainer" in node.get("properties", {}))


def test_deprecation_names_the_successor() -> None:
    """kubectl shows what to write in place of the old version."""
    old, new = build("DynamoGraphDeployment", line=Line.V1_2)["spec"]["versions"]
    assert (
        old["deprecationWarning"] == "nvidia.com/v1alpha1 DynamoGraphDeployment is deprecated; use nvidia.com/v1beta1 DynamoGraphDeployment"
    )
    assert "deprecated" not in new


def test_versions_can_be_left_out() -> None:
    """Tests register one version; it is stored then, whichever it is."""
    crd = build("DynamoGraphDeployment", versions={"v1beta1"}, conversion={"strategy": "None"}, line=Line.V1_2)
    assert [(version["name"], version["storage"]) for version in crd["spec"]["versions"]] == [("v1beta1", True)]
    assert crd["spec"]["conversion"] == {"strategy": "None"}
    with pytest.raises(ValueError, match="must name a version of DynamoModel"):
        build("DynamoModel", versions={"v1beta1"}, line=Line.V1_2)


def test_built_definitions_are_nobody_elses() -> None:
    """Changing a definition does not change the next one."""
    crd = build("DynamoModel", line=Line.V1_2)
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["required"].clear()
    assert build("DynamoModel", line=Line.V1_2) != crd


def test_manifests_name_their_generator_and_outlive_a_release(subtests: pytest.Subtests) -> None:
    """Only kinds of several versions are converted; no bundle is named, so that applying again takes none away."""
    for kind in KINDS:
        with subtests.test(kind.alias):
            crd = manifest(kind.name, by_service(), "somebody 1.0", line=Line.V1_2)
            assert crd["metadata"]["annotations"] == {
                "helm.sh/resource-policy": "keep",
                GENERATED_BY: "somebody 1.0",
                ALLOW_DATA_LOSS: "false",
            }
            service = {"namespace": "dynamo-system", "name": "dynamo-webhooks", "path": "/convert", "port": 443}
            stanza = {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": {"service": service}}}
            assert crd["spec"].get("conversion") == (stanza if len(kind.versions) > 1 else None)
            assert list(crd["spec"])[-1] == "versions"


def test_bundles_are_base64_of_pem() -> None:
    """As the API server decodes them; an empty one is left out."""
    client = by_url("https://example:9443/convert", b"PEM")["webhook"]["clientConfig"]
    assert client == {"url": "https://example:9443/convert", "caBundle": "UEVN"}
    assert by_service("a", "b", b"PEM")["webhook"]["clientConfig"]["caBundle"] == "UEVN"


# What one definition would take away from another: fields, served versions, the stored version; and nothing from equals.


def test_line_1_5_takes_nothing_away_and_is_lowered_by_line_1_2(subtests: pytest.Subtests) -> None:
    for kind in KINDS:
        with subtests.test(kind.alias):
            before, since = (build(kind.name, line=line) for line in (Line.V1_2, Line.V1_5))
            assert find_lost_fields(before, since) == find_lost_fields(since, since) == []
            lost = find_lost_fields(since, before)
            assert bool(lost) == (kind.alias not in ("DWM", "RUN", "CAND"))
            if kind.alias == "DGD":
                assert {"v1beta1 spec.components[].minAvailable", "v1alpha1 spec.services{}.minAvailable"} <= set(lost)
                assert "version v1beta1, in which objects are stored" in lost
                assert len(lost) == 35, "a definition of line 1.5 has other fields than the released one: set since= of what is new"


def test_versions_that_are_served_are_told() -> None:
    both, beta = build("DynamoGraphDeployment", line=Line.V1_2), build("DynamoGraphDeployment", versions={"v1beta1"}, line=Line.V1_2)
    assert find_lost_fields(both, beta) == ["version v1alpha1, which is served"]
    assert find_lost_fields(beta, both) == ["version v1beta1, in which objects are stored"]


@pytest.mark.parametrize(
    "live", [None, [], {"spec": {"versions": {}}}, {"spec": {"versions": [1, {"name": 2}, {"name": "v1beta1", "served": 1}]}}]
)
def test_a_definition_without_fields_loses_none(live: Any) -> None:
    assert find_lost_fields(live, build("DynamoModel", line=Line.V1_2)) == []


def test_what_is_preserved_is_not_lost_and_depth_is_bounded() -> None:
    deep: dict[str, Any] = {"type": "object"}
    for _ in range(300):
        deep = {"properties": {"a": deep}}
    crd = {"spec": {"versions": [{"name": "v1", "served": True, "schema": {"openAPIV3Schema": deep}}]}}
    free = {
        "spec": {
            "versions": [{"name": "v1", "served": True, "schema": {"openAPIV3Schema": {"x-kubernetes-preserve-unknown-fields": True}}}]
        }
    }
    assert find_lost_fields(crd, crd) == find_lost_fields(crd, free) == []
    assert find_lost_fields(crd, {"spec": {"versions": [{"name": "v1", "served": True}]}}) == ["v1 a"]


def _depth(schema: dict[str, Any]) -> int:
    inner = schema.get("items") or schema.get("additionalProperties")
    if isinstance(inner, dict):
        return _depth(inner)
    return max((1 + _depth(each) for each in (schema.get("properties") or {}).values()), default=0)


def test_every_field_of_ours_lies_within_the_levels_that_are_compared() -> None:
    depths = {
        (kind.name, version["name"]): _depth(version["schema"]["openAPIV3Schema"])
        for kind in KINDS
        for version in build(kind.name, line=Line.V1_2)["spec"]["versions"]
    }
    assert max(depths.values()) <= COMPARED_LEVELS, depths
    assert max(depths.values()) >= 12, "the depth is measured"


def test_it_concerns_updates_of_our_definitions_and_nothing_else() -> None:
    [rule] = policy()["spec"]["matchConstraints"]["resourceRules"]
    assert (rule["apiGroups"], rule["resources"], rule["operations"]) == (
        ["apiextensions.k8s.io"],
        ["customresourcedefinitions"],
        ["UPDATE"],
    )
    assert set(rule["resourceNames"]) == {kind.crd_name for kind in KINDS}
    assert "namespaceSelector" not in policy()["spec"]["matchConstraints"]


def test_only_the_provisioner_is_exempt_without_a_word() -> None:
    conditions = {each["name"]: each["expression"] for each in policy()["spec"]["matchConditions"]}
    assert conditions.keys() == {"not-the-provisioner", "not-acknowledged"}
    assert conditions["not-the-provisioner"] == f"request.userInfo.username != '{PROVISIONER}'"


def test_the_table_of_kinds_is_consistent() -> None:
    """Each kind has one stored version, which is served; aliases and plurals are unique; only beta successors deprecate."""
    for kind in KINDS:
        assert [version.name for version in kind.versions if version.storage] == [kind.storage_version]
        assert all(version.served for version in kind.versions)
        assert kind.plural == f"{kind.name.lower()}s"
        assert any(version.deprecated for version in kind.versions) == kind.has("v1beta1")
    assert len({kind.alias for kind in KINDS}) == len({kind.short for kind in KINDS}) == len(KINDS) == 9
