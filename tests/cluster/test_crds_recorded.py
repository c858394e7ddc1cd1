"""The files of manifests/crds, converted by our server, answer 2,500 recorded creates as the Go operator's definitions did."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from dynamo_webhooks.cli.yaml.load import load
from tests.cluster.conversion import converting_plane
from tests.cluster.harness import ADMIN, TOKENS
from tests.golden.corpus import corpus_file
from tools.crd_files import FOLDER

ROOT: Final = Path(__file__).parents[2]


@pytest.mark.golden
def test_the_comparison_of_the_corpus_finds_nothing(assets: Path, tmp_path: Path) -> None:
    """All versions are served at once, so what is not of the stored one goes through our conversion and back, as it did through theirs."""
    cases = corpus_file("schema.ndjson.gz")
    crds = [document.data for file in sorted(FOLDER.glob("*.yaml")) for document in load(file.read_text())]
    with converting_plane(assets, tmp_path) as (plane, converter):
        for crd in crds:
            if "conversion" in crd["spec"]:
                crd["spec"]["conversion"] = converter.stanza()
        plane.install(*crds)
        target = ["--api", f"https://127.0.0.1:{plane.port}", "--ca", str(plane.ca), "--token", TOKENS[ADMIN][0]]
        done = subprocess.run(
            [sys.executable, "-m", "tests.cluster.recorded", *target, cases],
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
            cwd=ROOT,
        )
        assert len(converter.lines()) > 1000
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == "total: 2500 of 2500 agree"
