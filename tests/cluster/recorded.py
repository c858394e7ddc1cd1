"""Runs the corpus' own comparison of creates: `python -m tests.cluster.recorded`, with its arguments.

It expects the object of a version that isn't stored as the Go operator's conversion gave it back: with zero values and an initial status
that nobody wrote. Ours gives back what was written, so for these versions the objects are compared without what that conversion left.
"""

from __future__ import annotations

import importlib.util
import sys
from typing import Any, Final

from dynamo_webhooks.api.kinds import BY_NAME
from tests.golden.corpus import FOLDER, compare, corpus_file, without_conversion

SCRIPT: Final = "compare_schema.py"


def difference(got: dict[str, Any], want: dict[str, Any]) -> list[str]:
    """What differs between two objects of one kind and version."""
    if not got["apiVersion"].endswith(f"/{BY_NAME[got['kind']].storage_version}"):
        got, want = without_conversion(got), without_conversion(want)
    return list(compare().diff(got, want))


def main() -> int:
    """Runs the script with the comparison above in place of its own; returns its exit status."""
    sys.path.insert(0, str(FOLDER))
    spec = importlib.util.spec_from_file_location("compare_schema", corpus_file(SCRIPT))
    assert spec
    assert spec.loader
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    vars(script)["diff"] = difference
    return int(script.main())


if __name__ == "__main__":
    sys.exit(main())
