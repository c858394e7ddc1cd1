"""The files that adopters look for first: licence, changelog, security policy."""

from __future__ import annotations

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


def test_the_security_policy_names_a_private_way_to_report_and_no_address() -> None:
    page = (ROOT / "SECURITY.md").read_text()
    assert "private advisory" in page
    assert not re.search(r"[\w.]+@[\w.]+", page)
    assert {"## Report a vulnerability", "## Supported versions", "## Threat model"} <= set(page.splitlines())
