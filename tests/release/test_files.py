"""The files of a release that are written by our own code: distributions, bill of materials, provenance, krew's manifest."""

from __future__ import annotations

import json
import os
import sysconfig
import tarfile
from importlib import metadata, resources
from pathlib import Path
from typing import Any, Final

import jsonschema_rs
import pytest
import yaml
from packaging.utils import canonicalize_name

from tests.manifests.environment import ROOT, copy_sources
from tools.release import bill, distributions, krew, provenance
from tools.release.archives import read_zip, write_tar
from tools.release.source import Source

SOURCE: Final = Source("0.1.0", "f" * 40, 1_790_000_000, "The first.\n", "me/mine")


def test_wheel_and_sources_have_the_same_bytes_whatever_the_modes_and_times_of_files(tmp_path: Path) -> None:
    made = []
    for name, umask in (("one", 0o077), ("another", 0o022)):
        before = os.umask(umask)
        try:
            source = tmp_path / name
            copy_sources(source)
            (source / "README.md").chmod(0o666 & ~umask)
            os.utime(source / "LICENSE", (umask, umask))
            (tmp_path / f"{name}-made").mkdir()
            made.append(distributions.build(source, tmp_path / f"{name}-made", SOURCE.epoch))
        finally:
            os.umask(before)
    assert [file.read_bytes() for file in made[0]] == [file.read_bytes() for file in made[1]]
    wheel, sdist = made[0]
    files = {name for name in read_zip(wheel) if name.startswith("dynamo_webhooks/")}
    with tarfile.open(sdist) as archive:
        assert {about.mtime for about in archive} == {SOURCE.epoch}
        assert files <= {about.name.partition("/")[2] for about in archive}


def _schema(name: str) -> Any:
    return json.loads(resources.files("cyclonedx.schema").joinpath("_res", f"{name}.SNAPSHOT.schema.json").read_text())


def _validator() -> jsonschema_rs.Draft7Validator:
    beside = [(f"http://cyclonedx.org/schema/{name}.SNAPSHOT.schema.json", _schema(name)) for name in ("spdx", "jsf-0.82")]
    return jsonschema_rs.Draft7Validator(_schema("bom-1.6"), registry=jsonschema_rs.Registry(beside))


@pytest.fixture(scope="module")
def materials() -> dict[str, Any]:
    return bill.bill(Path(sysconfig.get_path("purelib")), SOURCE)


def test_the_bill_of_materials_meets_the_schema_and_the_schema_finds_mistakes(materials: dict[str, Any]) -> None:
    validator = _validator()
    assert [str(error) for error in validator.iter_errors(materials)] == []
    assert not validator.is_valid({**materials, "components": [{"type": "library"}]})
    assert not validator.is_valid(
        {**materials, "components": [{"type": "library", "name": "x", "licenses": [{"license": {"id": "no such"}}]}]}
    )


def test_the_bill_of_materials_has_every_distribution_and_what_it_needs(materials: dict[str, Any]) -> None:
    installed = {canonicalize_name(each.name): each.version for each in metadata.distributions()}
    listed = {each["name"]: each["version"] for each in [materials["metadata"]["component"], *materials["components"]]}
    del listed["python"]
    assert listed == installed
    needs = {each["ref"]: each.get("dependsOn", []) for each in materials["dependencies"]}
    own = needs[materials["metadata"]["component"]["bom-ref"]]
    assert {ref.rpartition("@")[0] for ref in own} == {
        *(
            f"pkg:pypi/{name}"
            for name in ("aiohttp", "cryptography", "kubernetes", "orjson", "prometheus-client", "pydantic", "pyyaml", "uvloop")
        ),
        "pkg:generic/python",
    }
    assert all(each in needs for refs in needs.values() for each in refs)
    licences = {each["name"]: each.get("licenses") for each in materials["components"]}
    assert licences["pydantic"] == [{"expression": "MIT"}]
    assert materials["metadata"]["timestamp"] == "2026-09-21T14:13:20Z"


def test_the_statement_names_every_file_the_commit_and_the_locks(tmp_path: Path) -> None:
    (tmp_path / "b").write_bytes(b"")
    (tmp_path / "a").write_bytes(b"a")
    made = provenance.statement(tmp_path.iterdir(), SOURCE)
    assert [made["_type"], made["predicateType"]] == ["https://in-toto.io/Statement/v1", "https://slsa.dev/provenance/v1"]
    empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert [each["name"] for each in made["subject"]] == ["a", "b"]
    assert made["subject"][1]["digest"] == {"sha256": empty}
    needed = made["predicate"]["buildDefinition"]["resolvedDependencies"]
    assert needed[0] == {"uri": "git+https://github.com/me/mine@refs/tags/v0.1.0", "digest": {"gitCommit": SOURCE.commit}}
    assert {each["name"] for each in needed[1:]} == {path.name for path in ROOT.glob("requirements*.lock")}


def test_krews_manifest_has_the_digest_of_an_archive_with_program_and_licence(tmp_path: Path) -> None:
    pyz = tmp_path / "dynamo-webhooks.pyz"
    pyz.write_bytes(b"program")
    archive, file = krew.write(pyz, tmp_path, SOURCE)
    manifest = yaml.safe_load(file.read_text())
    assert (manifest["apiVersion"], manifest["kind"]) == ("krew.googlecontainertools.github.com/v1alpha2", "Plugin")
    assert file.name == f"{manifest['metadata']['name']}.krew.yaml"
    assert manifest["spec"]["version"] == "v0.1.0"
    assert len(manifest["spec"]["shortDescription"]) < 50  # what krew's index allows
    with tarfile.open(archive) as opened:
        held = {about.name: about.mode for about in opened}
    assert held == {"dynamo-webhooks.pyz": 0o755, "LICENSE": 0o644}
    for platform in manifest["spec"]["platforms"]:
        assert platform["sha256"] == provenance.sha256(archive)
        assert platform["uri"] == f"https://github.com/me/mine/releases/download/v0.1.0/{archive.name}"
        assert {each["from"] for each in platform["files"]} == set(held)
        assert platform["bin"] in held
    chosen = [tuple(sorted(each["selector"]["matchLabels"].items())) for each in manifest["spec"]["platforms"]]
    assert chosen == [(("arch", "amd64"), ("os", "linux")), (("arch", "arm64"), ("os", "linux"))]


def test_a_compressed_archive_names_no_time_of_its_own(tmp_path: Path) -> None:
    write_tar(tmp_path / "a.tar.gz", {"x": (b"1", 0o644)}, 5)
    assert (tmp_path / "a.tar.gz").read_bytes()[4:8] == bytes(4)
