"""The decoders under atheris (libFuzzer), where it is installed (`pip install atheris`): `python -m tests.hostile.fuzz yaml -runs=100000`.

Not a part of the tests: what it finds is mended, and kept as a case of its own there. Words behind the target's name are libFuzzer's:
`-max_total_time=60`, a folder that keeps the inputs, a file to try again.
"""

from __future__ import annotations

import importlib
import sys
import tempfile
from pathlib import Path

NAMES = ("decode", "envelope", "remainder", "yaml")


def main(name: str, words: list[str]) -> None:
    """Runs one target until it fails or libFuzzer has had enough; ends the process with libFuzzer's exit code."""
    atheris = importlib.import_module("atheris")
    with atheris.instrument_imports(include=[f"dynamo_webhooks.{room}" for room in ("api", "cli.yaml", "conversion", "webhooks.envelope")]):
        target = importlib.import_module("tests.hostile.targets").TARGETS[name]
    with tempfile.TemporaryDirectory() as folder:
        for index, body in enumerate(target.seeds()):
            (Path(folder) / f"seed-{index}").write_bytes(body)
        atheris.Setup([sys.argv[0], *words, folder], target.run)
        atheris.Fuzz()


if __name__ == "__main__":
    if sys.argv[1:2] and sys.argv[1] in NAMES:
        main(sys.argv[1], sys.argv[2:])
    else:
        sys.exit(f"name one of {', '.join(NAMES)}")
