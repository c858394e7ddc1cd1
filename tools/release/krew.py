"""The plugin of kubectl for krew: an archive with the pyz and the licence, and the manifest that names its digest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from dynamo_webhooks.cli.rewrite.fresh import yaml_text
from tools.release.archives import write_tar
from tools.release.provenance import sha256
from tools.release.source import ROOT
from tools.release.wheels import PROCESSORS

if TYPE_CHECKING:
    from pathlib import Path

    from tools.release.source import Source

PLUGIN: Final = "dynamo"
_DESCRIPTION: Final = """\
Checks, converts, explains and draws NVIDIA Dynamo's custom resources as the API server and the webhooks would, offline.
Without --cluster, commands make no network connection.
"""
_CAVEATS: Final = "Needs Python 3.11 to 3.14 as python3, on Linux with glibc. Commands that ask a cluster need an installation by pip.\n"


def write(pyz: Path, target: Path, source: Source) -> tuple[Path, Path]:
    """Writes the archive and the manifest into a folder; returns both."""
    archive = target / f"kubectl-{PLUGIN}-{source.version}.tar.gz"
    entries = {pyz.name: (pyz.read_bytes(), 0o755), "LICENSE": ((ROOT / "LICENSE").read_bytes(), 0o644)}
    write_tar(archive, entries, source.epoch)
    manifest = target / f"{PLUGIN}.krew.yaml"
    manifest.write_text(yaml_text(_manifest(archive, pyz.name, source)), "utf-8")
    return archive, manifest


def _manifest(archive: Path, program: str, source: Source) -> dict[str, Any]:
    platform = {
        "uri": f"{source.url}/releases/download/{source.tag}/{archive.name}",
        "sha256": sha256(archive),
        "files": [{"from": program, "to": "."}, {"from": "LICENSE", "to": "."}],
        "bin": program,
    }
    choices = [{"matchLabels": {"os": "linux", "arch": processor}} for processor in PROCESSORS.values()]
    return {
        "apiVersion": "krew.googlecontainertools.github.com/v1alpha2",
        "kind": "Plugin",
        "metadata": {"name": PLUGIN},
        "spec": {
            "version": source.tag,
            "homepage": source.url,
            "shortDescription": "Check and convert NVIDIA Dynamo's objects",
            "description": _DESCRIPTION,
            "caveats": _CAVEATS,
            "platforms": [{"selector": choice, **platform} for choice in choices],
        },
    }
