"""Installs the rooms below one name, and compiles what every request runs through with mypyc if DYNAMO_WEBHOOKS_COMPILE=1.

Everything else is in pyproject.toml.

To compile it needs a C compiler and Python's headers, and takes two minutes. Without it the same sources are interpreted.
"""

import os
import sys
from pathlib import Path
from typing import Any

from setuptools import find_namespace_packages, setup

NAME = "dynamo_webhooks"  # the one name that is installed; its links are for mypy and import-linter, and installing needs none
ROOMS = ("admission", "api", "cel", "certs", "cli", "conversion", "kube", "policies", "reconciler", "webhooks")

# compiled modules, by folder: all that a request runs through. No subclass of what isn't compiled may have weak references
_MODULES = {
    "webhooks": "access_log admission bodies callers connection convert envelope fair_queue http1 jobs meters reply routes server "
    "short_requests split_review",
    "admission": "judging kept open_parts ownership pipeline",
    "api": "bounds decode kinds line quantity scalars",
    "conversion": "**/*",
    "policies": "annotations at components edit engines evaluate facts gpu grove image_tag no_effect patterns pods review semver tables "
    "unchanged",
    "policies/component": "pods",
    "policies/defaults": "component graph",  # of rules those that are asked about objects without a mistake
    "policies/graph": "annotations backend component_set grove_names names no_effect replicas",
    "policies/v1alpha1": "annotations no_effect pvc resources services volumes",
    "kube": "metrics",
}
CORE = [f"{folder}/{name}.py" for folder, names in _MODULES.items() for name in names.split()]
WANTED = os.environ.get("DYNAMO_WEBHOOKS_COMPILE") == "1"


def _extensions() -> list[Any]:
    """None where an editable install, an archive or metadata are asked for."""
    if not WANTED or not {"bdist_wheel", "build_ext"}.intersection(sys.argv):
        return []
    from mypyc.build import mypycify

    root = Path(NAME)
    files = sorted(str(file) for pattern in CORE for file in root.glob(pattern) if file.name != "__init__.py")
    options = ["--config-file=", "--strict", "--ignore-missing-imports", "--explicit-package-bases"]
    found: list[Any] = mypycify([*options, *files], opt_level="2", debug_level="0")
    for extension in found:
        # else each call may be another library's, which costs a jump and forbids to inline it
        extension.extra_compile_args += ["-fvisibility=hidden", "-fno-plt"]
        # -Wall, which Python's own flags have, looks at the indentation of mypyc's 70 MB: more than half of the compiler's time
        extension.extra_compile_args.append("-Wno-misleading-indentation")
    return found


setup(
    packages=[NAME, *(f"{NAME}.{name}" for room in ROOMS for name in (room, *(f"{room}.{one}" for one in find_namespace_packages(room))))],
    package_dir={f"{NAME}.{room}": room for room in ROOMS},
    ext_modules=_extensions(),
    setup_requires=["mypy>=1.18"] if WANTED else [],
)
