"""The command `crds`: what it prints is what lies in manifests/crds, or the same for another converting server; and its wrong uses."""

import base64
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from dynamo_webhooks.api.crd import build, by_service, by_url
from dynamo_webhooks.api.kinds import KINDS
from dynamo_webhooks.api.line import DEFAULT_LINE, NEWEST, Line, of_definition
from dynamo_webhooks.certs.authority import make_authority
from dynamo_webhooks.cli.commands.crds import make_definitions, merge_with_live, read_live_definitions
from dynamo_webhooks.kube.resources import CRDS
from tests.cli.conftest import Command, Files
from tests.kube.memory import MemoryCluster
from tests.rows import run_each
from tools import crd_files

Fields = dict[str, Any]
CONVERTED = {kind.name for kind in KINDS if len(kind.versions) > 1}
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def _client(command: Command, *words: str | Path) -> Any:
    """How one kind of two versions is converted."""
    return command("crds", "--kind", "dgdsa", "-o", "json", *words).json["spec"]["conversion"]["webhook"]["clientConfig"]


@pytest.mark.parametrize("line", [DEFAULT_LINE, Line.V1_5])
def test_what_is_printed_is_what_lies_in_the_manifests(command: Command, line: Line) -> None:
    ran = command("crds", *(() if line == DEFAULT_LINE else ("--line", line)))
    assert (ran.code, ran.err) == (0, "")
    texts = [(crd_files.FOLDERS[line] / f"{kind.plural}.yaml").read_text() for kind in KINDS if kind.is_of(line)]
    assert all(text.startswith(crd_files.HEADER) for text in texts)
    assert ran.out == "---\n".join(text.removeprefix(crd_files.HEADER) for text in texts)


def test_kinds_are_chosen_by_any_of_their_names_and_come_once_each(command: Command) -> None:
    ran = command("crds", "--kind", "dm", "--kind", "DynamoGraphDeploymentScalingAdapter", "--kind", "dynamomodels")
    assert [crd["spec"]["names"]["shortNames"] for crd in yaml.safe_load_all(ran.out)] == [["dgdsa"], ["dm"]]
    assert command("crds", "--kind", "DynamoModl") == (
        2,
        "",
        "dynamo-webhooks crds: --kind DynamoModl: no such kind; did you mean DynamoModel?\n",
    )


def test_kinds_of_two_versions_are_converted_by_the_named_service(command: Command) -> None:
    printed = command("crds", "--namespace", "ai", "--service", "hooks", "-o", "json").json
    assert printed["kind"] == "List"
    service = {"namespace": "ai", "name": "hooks", "path": "/convert", "port": 443}
    stanza = {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": {"service": service}}}
    conversions = {crd["spec"]["names"]["kind"]: crd["spec"].get("conversion") for crd in printed["items"]}
    assert conversions == {kind.name: stanza if kind.name in CONVERTED else None for kind in KINDS if kind.is_of(DEFAULT_LINE)}


@pytest.mark.parametrize(
    ("given", "printed"),
    [
        ("https://127.0.0.1:9443", "https://127.0.0.1:9443/convert"),
        ("https://127.0.0.1:9443/", "https://127.0.0.1:9443/convert"),
        ("https://hooks.example/dynamo/convert", "https://hooks.example/dynamo/convert"),
        ("https://[::1]:9443", "https://[::1]:9443/convert"),
    ],
)
def test_a_server_outside_is_named_by_its_url(command: Command, given: str, printed: str) -> None:
    assert _client(command, "--url", given) == {"url": printed}


def test_the_bundle_holds_every_certificate_and_nothing_else(command: Command, files: Files) -> None:
    certificates = [make_authority(NOW, generation=number).certificate for number in (1, 2)]
    folder = files(raw_bundle=b"a word before\n" + b"and between\n".join(certificates))
    bundle = _client(command, "--ca-bundle", folder / "raw_bundle")["caBundle"]
    assert base64.b64decode(bundle) == b"".join(certificates)


def _wrong_bundles() -> dict[str, tuple[bytes | None, str]]:
    pair = make_authority(NOW)
    key = "holds a private key; name a file of certificates alone"
    alone = "must hold certificates as PEM and nothing else"
    return {
        "key": (pair.key, key),
        "certificate and key": (pair.certificate + pair.key, key),
        "empty": (b"", alone),
        "a request": (b"-----BEGIN CERTIFICATE REQUEST-----\nMIIB\n-----END CERTIFICATE REQUEST-----\n", alone),
        "cut off": (pair.certificate + pair.certificate[:80], alone),
        "missing": (None, "does not exist"),
        "a broken one": (b"-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n", "holds a certificate that can't be read"),
    }


@run_each("name", _wrong_bundles())
def test_a_wrong_bundle_is_refused_in_one_sentence_without_its_content(command: Command, files: Files, name: str) -> None:
    content, sentence = _wrong_bundles()[name]
    file = files(**({} if content is None else {f"raw {name}": content})) / f"raw {name}"
    assert command("crds", "--ca-bundle", file) == (4, "", f"dynamo-webhooks crds: --ca-bundle {file}: {sentence}\n")


def test_a_line_chooses_the_definitions(command: Command) -> None:
    printed = {line: command("crds", "--line", line, "-o", "json").json["items"] for line in Line}
    assert printed[DEFAULT_LINE] == command("crds", "-o", "json").json["items"]
    counts = {line: [item["spec"]["names"]["kind"] for item in printed[line]].count("DynamoCheckpoint") for line in Line}
    assert counts == {line: int(line < Line.V1_5) for line in Line}
    assert make_definitions([kind.name for kind in KINDS], by_service(), Line.V1_5) == printed[Line.V1_5]


def test_a_kind_that_is_gone_has_no_definition(command: Command) -> None:
    ran = command("crds", "--line", "1.6", "--kind", "dgd", "--kind", "dckpt")
    assert (ran.code, ran.out) == (2, "")
    assert "--kind DynamoCheckpoint: this operator release has no such kind; nothing deletes a definition" in ran.err


def _against(live: Line, line: Line | None) -> tuple[list[dict[str, Any]], list[str]]:
    kinds = [kind.name for kind in KINDS]
    return merge_with_live({kind: build(kind, line=live) for kind in kinds}, lambda line: make_definitions(kinds, by_service(), line), line)


def test_definitions_that_lower_the_clusters_are_not_printed() -> None:
    crds, [*sentences, way] = _against(Line.V1_5, Line.V1_2)
    assert crds == []
    assert [sentence.partition(":")[0] for sentence in sentences] == [
        kind.crd_name for kind in KINDS if kind.is_of(Line.V1_2) and kind.alias != "DWM"
    ]
    assert (
        "dynamographdeployments.nvidia.com: the cluster's definition has v1alpha1 spec.experimental.kvTransferPolicy.clusterTopologyName"
        in sentences[0]
    )
    assert "and 15 more" in sentences[0]
    assert way.endswith("use --line 1.5")
    for live, line, printed in ((Line.V1_5, None, Line.V1_5), (Line.V1_2, None, Line.V1_2), (Line.V1_2, Line.V1_5, Line.V1_5)):
        crds, lost = _against(live, line)
        assert (lost, of_definition(crds[0])) == ([], printed)
    newer = build("DynamoGraphDeployment", line=NEWEST)
    newer["spec"]["versions"].append({"name": "v1", "served": True, "storage": False})
    crds, lost = merge_with_live(
        {"DynamoGraphDeployment": newer}, lambda line: make_definitions(["DynamoGraphDeployment"], by_service(), line), None
    )
    assert (crds, lost[0]) == ([], "dynamographdeployments.nvidia.com: the cluster's definition has version v1, which is served")
    assert lost[-1].endswith("print the definitions with a release that knows these fields")
    crds, lost = merge_with_live({}, lambda line: make_definitions(["DynamoModel"], by_service(), line), None)
    assert (len(crds), lost) == (1, []), "an empty cluster has nothing to lose"


@run_each(
    ("there", "wanted", "named", "printed"),
    [
        (by_url("https://a/c", b"x"), by_service(), False, {"url": "https://a/c"}),
        (by_url("https://a/c", b"x"), by_service("n", "s"), True, {**by_service("n", "s")["webhook"]["clientConfig"], "url": None}),
        (by_service(), by_url("https://b/c"), True, {"url": "https://b/c", "service": None}),
        (by_service("n", "s"), by_service(), False, by_service()["webhook"]["clientConfig"]),
        (by_url("https://a/c"), by_url("https://b/c"), True, {"url": "https://b/c"}),
        (None, by_service(), False, by_service()["webhook"]["clientConfig"]),
    ],
)
def test_definitions_can_be_applied_over_those_with_a_url(there: Fields | None, wanted: Fields, named: bool, printed: Fields) -> None:
    """The API server refuses a url beside a Service, and keeps what another client wrote."""
    live = {kind: build(kind, conversion=there, line=Line.V1_5) for kind in CONVERTED}
    crds, lost = merge_with_live(live, lambda line: make_definitions(["DynamoModel", *CONVERTED], wanted, line), None, named=named)
    assert lost == []
    configs = [crd["spec"]["conversion"]["webhook"]["clientConfig"] for crd in crds if "conversion" in crd["spec"]]
    assert configs == [printed] * len(CONVERTED)
    assert "url" not in wanted["webhook"]["clientConfig"] or wanted["webhook"]["clientConfig"]["url"] == "https://b/c"


async def test_each_definition_is_asked_for_once() -> None:
    cluster = MemoryCluster()
    crd = build("DynamoModel", line=Line.V1_2)
    await cluster.create(CRDS, crd)
    live = await read_live_definitions(cluster)
    assert live.keys() == {kind.name for kind in KINDS}
    assert [name for name, definition in live.items() if definition is not None] == ["DynamoModel"]
