"""What is gathered from an API server in memory: every fact is known with its value, or unknown with its reason.

And the command `facts` without a cluster that answers, what facts mean, and what follows from unknown ones. On a real API server:
tests/cluster.
"""

import copy
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from dynamo_webhooks.api.crd import build
from dynamo_webhooks.api.line import Line
from dynamo_webhooks.api.unknown_fields import describe_later_release
from dynamo_webhooks.cli.commands.facts import format_facts, redact
from dynamo_webhooks.cli.facts.gather import GatheredFacts, gather_facts
from dynamo_webhooks.cli.facts.load import _value, describe_consequences
from dynamo_webhooks.cli.objects.cluster_snapshot import take_snapshot
from dynamo_webhooks.cli.yaml.load import load_documents
from dynamo_webhooks.kube.errors import ForbiddenError, UnavailableError
from dynamo_webhooks.kube.resources import CONFIG_MAPS, CRDS, DEPLOYMENTS, LEASES, TOPOLOGIES
from dynamo_webhooks.policies.facts import UNKNOWN, Facts, facts_from
from tests.cli.conftest import Command
from tests.cli.daemon.processes import unreachable
from tests.cli.facts.installed import GO, OURS, configuration, deployment, install
from tests.kube.memory import MemoryCluster
from tests.rows import run_each
from tests.webhooks.test_admission import FACTS as KNOWN

Node = dict[str, Any]
SERVED = {
    "grove.io": frozenset({"v1alpha1"}),
    "inference.networking.k8s.io": frozenset({"v1"}),
    "leaderworkerset.x-k8s.io": frozenset({"v1"}),
    "resource.k8s.io": frozenset({"v1beta2"}),
}


async def claim(cluster: MemoryCluster, namespace: str, *, age: float = 0.0) -> None:
    from datetime import timedelta

    from dynamo_webhooks.kube.times import format_micro_time

    renewed = format_micro_time(cluster.storage.now - timedelta(seconds=age))
    spec = {"holderIdentity": "namespace-restricted-operator-1.2.0", "leaseDurationSeconds": 30, "renewTime": renewed}
    metadata = {"name": "dynamo-operator-namespace-scope", "namespace": namespace}
    await cluster.create(LEASES, {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec})


async def topology(cluster: MemoryCluster, name: str, *names: str) -> None:
    levels = [{"domain": each, "key": f"example.com/{each}"} for each in names]
    obj = {"apiVersion": "grove.io/v1alpha1", "kind": "ClusterTopology", "metadata": {"name": name}, "spec": {"levels": levels}}
    await cluster.create(TOPOLOGIES, obj)


CLAIMABLE: Final = {"scope": {"claimable": ["a-team", "team-a", "team-b"]}}


async def whole() -> MemoryCluster:
    """A cluster with everything: our installation, two claims of which one ran out, two topologies."""
    cluster = MemoryCluster(served=SERVED)
    await install(cluster, OURS, configuration(gpu={"discoveryEnabled": False}, namespace=CLAIMABLE, operator={"version": "1.2.0"}))
    await claim(cluster, "team-b")
    await claim(cluster, "team-a", age=3600)
    await topology(cluster, "wide", "zone", "rack", "host")
    await topology(cluster, "flat", "host")
    return cluster


async def gathered(operator: Node, config: Node | None = None, cluster: MemoryCluster | None = None, **container: Any) -> GatheredFacts:
    """The facts of a cluster with an operator, some fields of whose container are others."""
    cluster, changed = cluster or MemoryCluster(served=SERVED), copy.deepcopy(operator)
    changed["spec"]["template"]["spec"]["containers"][0] |= container
    await install(cluster, changed, config or configuration())
    return await gather_facts(cluster)


async def test_everything_that_a_cluster_tells_and_nothing_is_written_there_or_over_here(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = await whole()
    cluster.writes.clear()
    monkeypatch.setattr("tempfile.tempdir", "/nowhere")
    result = await gather_facts(cluster)
    assert cluster.writes == []
    assert result.reasons == {}
    assert result.values == {
        "operatorScope": "cluster",
        "operatorVersion": "1.2.0",
        "operatorPrincipal": "system:serviceaccount:dynamo-system:dynamo-webhooks-reconciler",
        "grove": True,
        "inferencePool": True,
        "clusterTopologies": {"flat": ["host"], "wide": ["zone", "rack", "host"]},
        "gpuDiscovery": False,
        "dra": False,
        "lws": False,
        "istio": False,
        "excludedNamespaces": ["team-b"],
        "allowGmsSnapshot": False,
        "checkpoint": False,
        "lpx": False,
        "dgdrDefaultImage": "",
        "switchedOff": [],
    }


CONFIG = "--config=/etc/dynamo-operator/config.yaml"


async def test_the_go_operator_is_told_by_its_flags_and_environment() -> None:
    values = (await gathered(GO, args=[CONFIG, "--operator-version=1.3.0", "--dgdr-default-image=example/planner:1.5.0"])).values
    assert values["operatorVersion"] == "1.3.0"
    assert values["operatorPrincipal"] == "system:serviceaccount:dynamo-system:platform-controller-manager"
    assert values["allowGmsSnapshot"] is True
    assert values["dgdrDefaultImage"] == "example/planner:1.5.0"


async def test_an_operator_of_one_namespace_alone_and_what_it_is_told_not_to_use() -> None:
    cluster = MemoryCluster(served=SERVED)
    await claim(cluster, "team-a")
    config = configuration(namespace={"restricted": "team-a"}, orchestrators={"grove": {"enabled": False}})
    values = (await gathered(OURS, config, cluster)).values
    assert (values["operatorScope"], values["excludedNamespaces"]) == ("namespace", [])
    assert (values["grove"], values["switchedOff"]) == (False, ["grove"])


async def test_a_cluster_without_any_operator() -> None:
    cluster = MemoryCluster(served=SERVED)
    for other in (deployment("web", {"app": "web"}, ["serve", "--config=x"]), {"metadata": {"name": "odd"}}):
        await cluster.create(DEPLOYMENTS, {**other, "metadata": {**other["metadata"], "namespace": "web"}})
    result = await gather_facts(cluster)
    names = {"operatorScope", "operatorVersion", "operatorPrincipal", "gpuDiscovery", "allowGmsSnapshot", "switchedOff"}
    unknown = {*names, "checkpoint", "lpx", "dgdrDefaultImage"}
    line = {"operatorLine": "the cluster has no CustomResourceDefinition dynamographdeployments.nvidia.com with v1beta1"}
    assert result.reasons == dict.fromkeys(sorted(unknown), "no operator is installed") | line
    assert (result.values["grove"], result.values["clusterTopologies"], result.values["excludedNamespaces"]) == (True, {}, [])
    missing = await gather_facts(MemoryCluster(served=SERVED), "elsewhere")
    assert missing.reasons["operatorScope"] == "no operator is installed in namespace elsewhere"


async def test_where_no_operator_tells_its_version_the_definitions_tell_the_line() -> None:
    for line in Line:
        cluster = MemoryCluster(served=SERVED)
        for name in ("DynamoGraphDeployment", "DynamoGraphDeploymentRequest"):
            await cluster.create(CRDS, build(name, line=line))
        result = await gather_facts(cluster)
        assert result.later == ""
        assert (result.values["operatorLine"], facts_from(result.values).line) == (line, line)
        assert "operatorLine" not in result.reasons
        assert facts_from(load_documents(format_facts(result), "facts.yaml")[0].data).line == line


async def test_a_cluster_of_a_later_release_is_judged_as_the_newest_and_unknown_fields_are_named() -> None:
    cluster = MemoryCluster(served=SERVED)
    for name in ("DynamoGraphDeployment", "DynamoGraphDeploymentRequest"):
        later = build(name, line=Line.V1_7)
        later["spec"]["versions"].append({"name": "v1", "served": True, "schema": {"openAPIV3Schema": {"type": "object"}}})
        spec = later["spec"]["versions"][1]["schema"]["openAPIV3Schema"]["properties"]["spec"]
        spec["properties"] |= {f"new{index}": {"type": "string"} for index in range(9)}
        await cluster.create(CRDS, later)
    result = await gather_facts(cluster)
    assert result.values["operatorLine"] == "1.7"
    assert result.later.startswith(
        "this cluster is newer than operator 1.7: judged as 1.7, fields unknown: DynamoGraphDeployment v1beta1 spec.new0, "
    )
    assert result.later.endswith("DynamoGraphDeployment version v1, which is served and 10 more")
    snapshot = await take_snapshot(cluster, "", [])
    assert snapshot.later == result.later
    assert describe_later_release("1.30.0", Line.V1_7, ()) == "this cluster is newer than operator 1.7: judged as 1.7"
    assert describe_later_release("1.7.9", Line.V1_7, (None, {"spec": {"names": []}})) == ""


async def test_the_cluster_wide_one_counts_where_restricted_ones_are_too_and_a_namespace_chooses() -> None:
    cluster = await whole()
    await install(cluster, OURS, configuration(namespace={"restricted": "team-b"}), namespace="team-b")
    assert (await gather_facts(cluster)).values["operatorScope"] == "cluster"
    chosen = await gather_facts(cluster, "team-b")
    assert chosen.values["operatorScope"] == "namespace"
    assert chosen.values["operatorPrincipal"] == "system:serviceaccount:team-b:dynamo-webhooks-reconciler"


async def test_two_cluster_wide_operators_are_not_guessed_between() -> None:
    cluster = await whole()
    await install(cluster, GO, configuration(), namespace="other")
    result = await gather_facts(cluster)
    assert "operatorVersion" not in result.values
    assert result.reasons["operatorVersion"] == (
        "several operators are installed, choose by --namespace: dynamo-system/dynamo-webhooks-server, other/platform-controller-manager"
    )


@pytest.mark.parametrize(
    ("operator", "change", "fact", "words"),
    [
        (OURS, {"args": ["serve"]}, "gpuDiscovery", "its configuration can't be used: it is started without --config"),
        (OURS, {"args": ["serve", "--config", "/elsewhere/x"]}, "gpuDiscovery", "no ConfigMap holds /elsewhere/x"),
        (OURS, {"env": [{"name": "POD_SERVICE_ACCOUNT", "valueFrom": {"secretKeyRef": {}}}]}, "operatorPrincipal", "POD_SERVICE_ACCOUNT"),
        (OURS, {"envFrom": [{"configMapRef": {}}]}, "allowGmsSnapshot", "does not contain the value of DYN_OPERATOR_ALLOW_GMS_SNAPSHOT"),
        (GO, {"args": [CONFIG, "--operator-version=$(VERSION)"]}, "operatorVersion", 'is no semantic version: "$(VERSION)"'),
    ],
)
async def test_what_a_deployment_does_not_show_is_not_guessed(operator: Node, change: Node, fact: str, words: str) -> None:
    result = await gathered(operator, **change)
    assert fact not in result.values
    assert words in result.reasons[fact]


async def test_a_configuration_that_can_not_be_used_is_told_without_the_place_it_was_read_at() -> None:
    reason = (await gathered(OURS, {**configuration(), "nonsense": 1})).reasons["operatorScope"]
    assert reason.startswith("its configuration can't be used: its file can't be used; 1 thing to change:")
    assert "nonsense" in reason
    assert "tmp" not in reason


async def test_what_may_not_be_read_is_told_with_the_servers_words() -> None:
    cluster = await whole()
    cluster.denied |= {("list", "deployments"), ("list", "leases"), ("list", "clustertopologies"), ("list", "clustertopologybindings")}
    result = await gather_facts(cluster)
    assert set(result.values) == {"grove", "inferencePool", "dra", "lws", "istio"}
    assert result.reasons["excludedNamespaces"].startswith("can't be read: ")
    assert result.reasons["operatorScope"].startswith("Deployments can't be read: ")
    assert "clusterTopologies" not in yaml.safe_load(format_facts(result))  # where null would say that there are none
    cluster = await whole()
    cluster.denied.add(("get", "configmaps"))
    assert (await gather_facts(cluster)).reasons["operatorScope"].startswith("its configuration can't be read: ")


async def test_api_groups_that_can_not_be_asked_for_are_unknown_not_absent() -> None:
    cluster = await whole()
    cluster.fail(lambda verb, *_: ForbiddenError(403, "Forbidden", "no discovery for you") if verb == "groups" else None)
    result = await gather_facts(cluster)
    assert result.reasons["dra"] == "can't be read: no discovery for you"
    assert not {"grove", "inferencePool", "dra", "lws", "istio"} & set(result.values)


async def test_a_cluster_without_topologies_says_so() -> None:
    result = await gather_facts(MemoryCluster(served={}))
    assert result.values["clusterTopologies"] is None
    assert "# the cluster serves no ClusterTopologies\nclusterTopologies: null\n" in format_facts(result)
    assert facts_from(load_documents(format_facts(result), "facts.yaml")[0].data).clusterTopologies is None


@pytest.mark.parametrize("resource", [DEPLOYMENTS, LEASES, TOPOLOGIES, CONFIG_MAPS])
async def test_a_server_that_goes_away_in_between_is_no_unknown_fact(resource: Any) -> None:
    cluster = await whole()
    cluster.fail(lambda _verb, requested, *_: UnavailableError(0, "", "gone away") if requested == resource else None)
    with pytest.raises(UnavailableError):
        await gather_facts(cluster)


async def test_the_text_is_a_facts_file_with_the_same_facts_and_the_same_bytes() -> None:
    result = await gather_facts(await whole())
    text = format_facts(result)
    assert text == format_facts(await gather_facts(await whole()))
    assert facts_from(load_documents(text, "facts.yaml")[0].data) == facts_from(result.values)
    assert [line.partition(":")[0] for line in text.splitlines() if line[0] not in "# "] == [
        name for name in Facts._fields if name != "operatorLine"
    ]
    empty = format_facts(await gather_facts(MemoryCluster(served=SERVED)))
    assert "# operatorScope is not known: no operator is installed\noperatorScope: null\n" in empty


async def test_redaction_numbers_names_and_leaves_what_rules_look_up() -> None:
    cluster = await whole()
    await claim(cluster, "a-team")
    cluster.denied.add(("list", "clustertopologies"))
    before = await gather_facts(cluster)
    after = redact(before)
    assert after.values["excludedNamespaces"] == ["namespace-1", "namespace-3"]
    assert after.values["operatorPrincipal"] == "system:serviceaccount:namespace-2:account-1"
    assert after.reasons == {"clusterTopologies": "can't be read"}
    for name in ("team", "dynamo-system", "reconciler"):
        assert name in format_facts(before)
        assert name not in format_facts(after)
    for name in ("operatorVersion", "grove", "gpuDiscovery"):
        assert after.values[name] == before.values[name]
    assert redact(await gather_facts(await whole())).values["clusterTopologies"] == {"flat": ["host"], "wide": ["zone", "rack", "host"]}


FOUND = GatheredFacts({"grove": True, "clusterTopologies": None, "excludedNamespaces": ["secret-team"]}, {"dra": "can't be read: secret"})


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> None:
    from dynamo_webhooks.cli.commands import facts

    rest = {name: "the cluster does not show it" for name in Facts._fields if name not in FOUND.values and name not in FOUND.reasons}

    async def gathered(_args: object) -> GatheredFacts:
        return FOUND._replace(reasons={**FOUND.reasons, **rest}, later="this cluster is newer than operator 1.7: judged as 1.7")

    monkeypatch.setattr(facts, "_gathered", gathered)


def test_the_file_is_the_result_and_what_is_unknown_is_talk(found: None, command: Command, tmp_path: Path) -> None:
    printed = command("facts", "--cluster")
    assert (printed.code, yaml.safe_load(printed.out)["grove"]) == (0, True)
    assert "dra is not known: can't be read: secret\n" in printed.err
    assert printed.err.startswith("this cluster is newer than operator 1.7: judged as 1.7\n")
    stored = command("facts", "--cluster", "-o", tmp_path / "facts.yaml")
    assert (stored.code, stored.out, (tmp_path / "facts.yaml").read_text()) == (0, "", printed.out)


def test_redaction_leaves_no_name_on_either_stream(found: None, command: Command) -> None:
    ran = command("facts", "--cluster", "--redact")
    assert "secret" not in ran.out + ran.err
    assert "excludedNamespaces:\n  - namespace-1\n" in ran.out


def test_a_file_that_can_not_be_written_is_wrong_usage(found: None, command: Command, tmp_path: Path) -> None:
    ran = command("facts", "--cluster", "-o", tmp_path)
    assert (ran.code, ran.err) == (2, f"dynamo-webhooks facts: {tmp_path} can't be written: Is a directory\n")


def test_a_cluster_that_is_not_reached(command: Command, tmp_path: Path) -> None:
    ran = command("facts", "--cluster", "--kubeconfig", unreachable(tmp_path))
    assert (ran.code, ran.out, ran.err.count("\n")) == (6, "", 1)
    assert ran.err.startswith("the cluster can't be asked: ")


def test_nothing_is_said_when_all_facts_are_known_and_defaults_that_fill_in_nothing_are_named() -> None:
    assert describe_consequences(KNOWN) == []
    unknown = KNOWN._replace(operatorVersion=UNKNOWN, operatorLine=Line.V1_2)
    assert describe_consequences(unknown) == ["operatorVersion is not known: mut-dgd-origin-version and mut-dgdr-image fill in nothing"]


def test_rules_that_refuse_are_named() -> None:
    lines = describe_consequences(Facts())
    assert len(lines) == len({line.partition(" ")[0] for line in lines}) > 5
    [grove] = [line for line in lines if line.startswith("grove is not known: ")]
    assert "priority-class-requires-grove" in grove
    assert grove.endswith("objects that depend on it")


@run_each("word", ["true", "No", "on", "null", "0", "012", "0x1F", "1e3", "1e999", "9" * 30, "cluster", "a1", "y"])
def test_a_word_means_what_it_means_in_yaml(word: str) -> None:
    documents = load_documents(word)
    meant = documents[0].data if documents else None
    value = _value(word, "-")
    assert (value, type(value)) == (meant, type(meant))
