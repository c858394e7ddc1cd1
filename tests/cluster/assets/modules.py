"""Pins another Kubernetes for `KUBERNETES=`: `python -m tests.cluster.assets.modules 1.33.5` writes kubernetes/1.33.mod and 1.33.sum.

Requirements are those of Kubernetes' own go.mod; the staging modules, which lie inside that tree, have versions of their own outside it.
"""

import json
import re
import sys
from pathlib import Path
from typing import Final

from tests.cluster.assets.build import HERE, VERSIONED, run_go

_DIRECTIVES: Final = re.compile(r"^(?:go|godebug) \S+$", re.MULTILINE)  # what its main packages are compiled with
_STAGING: Final = re.compile(r"^\t(k8s\.io/\S+) => \./staging/", re.MULTILINE)


def write(version: str) -> Path:
    """Writes both files for a version such as 1.33.5 and returns the first."""
    module = HERE / "kubernetes"
    downloaded = json.loads(run_go(module, f"downloading {version}", "mod", "download", "-json", f"k8s.io/kubernetes@v{version}"))
    file = module / f"{version.rpartition('.')[0]}.mod"
    file.write_text(text(version, Path(downloaded["GoMod"]).read_text(encoding="utf-8")), encoding="utf-8")
    run_go(module, f"writing {file.name}", "list", "-mod=mod", f"-modfile={file.name}", "-deps", *(f"./{each}" for each in VERSIONED))
    return file


def text(version: str, upstream: str) -> str:
    """The go.mod that builds Kubernetes' programs outside its tree, from the go.mod inside; the indirect requirements are go's to add."""
    staging = version.partition(".")[2]
    replaced = "".join(f"\t{name} => {name} v0.{staging}\n" for name in _STAGING.findall(upstream))
    required = f"require k8s.io/kubernetes v{version}\n\nrequire k8s.io/component-base v0.{staging}\n"
    directives = "\n\n".join(_DIRECTIVES.findall(upstream))
    return f"module dynamo-webhooks.test/kubernetes\n\n{directives}\n\n{required}\nreplace (\n{replaced})\n"


if __name__ == "__main__":
    for each in sys.argv[1:]:
        sys.stdout.write(f"{write(each)}\n")
