"""The files that adopters look for first: licence, changelog, security policy."""

import json
import re
import tomllib
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
PROJECT: Final = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_the_declared_licence_is_there_as_a_whole() -> None:
    text = " ".join((ROOT / "LICENSE").read_text().split())
    assert (PROJECT["license"], PROJECT["license-files"]) == ("Apache-2.0", ["LICENSE"])
    assert text.startswith("Apache License Version 2.0, January 2004")
    assert [number for number in range(1, 10) if f" {number}. " not in text] == []
    assert "END OF TERMS AND CONDITIONS" in text


def test_the_changelog_has_the_version_and_what_comes_after_it() -> None:
    heads = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert heads[:2] == ["Unreleased", PROJECT["version"]]


def test_manifests_name_the_version() -> None:
    chart = (ROOT / "manifests" / "chart" / "Chart.yaml").read_text()
    images = "".join((ROOT / "manifests" / name / "kustomization.yaml").read_text() for name in ("base", "overlays/migrate"))
    named = re.findall(r"^(?:version|appVersion): (\S+)", chart, re.MULTILINE) + re.findall(r"newTag: (\S+)", images)
    assert named == [PROJECT["version"]] * 4
    assert json.loads((ROOT / "editors" / "vscode" / "package.json").read_text())["version"] == PROJECT["version"]
    for file in (ROOT / "manifests" / "crds").iterdir():
        assert f"generated-by: dynamo-webhooks {PROJECT['version']}\n" in file.read_text()


def test_every_lock_has_hashes_and_the_versions_that_are_tested() -> None:
    locks = {
        name: (ROOT / name).read_text()
        for name in ("requirements.lock", "requirements-server.lock", "requirements-files.lock", "requirements-lsp.lock")
    }
    pinned = {name: dict(re.findall(r"^([\w-]+)==(\S+)", text, re.MULTILINE)) for name, text in locks.items()}
    assert pinned["requirements-files.lock"].items() <= pinned["requirements-lsp.lock"].items()
    assert {"pyyaml", "orjson"} <= {name.lower() for name in pinned["requirements-files.lock"]}
    for name, text in locks.items():
        pins = re.split(r"\n(?=\S)", text.strip())
        assert [pin for pin in pins if "--hash=sha256:" not in pin] == [], name
        assert pinned[name].items() <= pinned["requirements.lock"].items(), name


def test_the_security_policy_names_a_private_way_to_report_and_no_address() -> None:
    page = (ROOT / "SECURITY.md").read_text()
    assert "private advisory" in page
    assert not re.search(r"[\w.]+@[\w.]+", page)
    assert {"## Report a vulnerability", "## Supported versions", "## Threat model"} <= set(page.splitlines())
