"""The image: what its file says. What it holds, and that it runs, is tested on the layout of a release: tests/release."""

import json
import re
from pathlib import Path
from typing import Final

from tests.manifests.environment import PACKAGE, ROOMS, ROOT

USER: Final = 65532
FILE: Final = ROOT / "manifests" / "Containerfile"
INSTRUCTIONS: Final = [line for line in FILE.read_text().splitlines() if line and not line.startswith("#")]


def _last(word: str) -> str:
    return [line for line in INSTRUCTIONS if line.startswith(f"{word} ")][-1].removeprefix(f"{word} ")


def test_the_last_stage_starts_from_nothing_and_runs_no_command_and_no_shell() -> None:
    last = INSTRUCTIONS[max(i for i, line in enumerate(INSTRUCTIONS) if line.startswith("FROM ")) :]
    assert last[0] == "FROM scratch"
    assert not [line for line in last if line.startswith("RUN ")], "there is no shell to run it with"
    assert _last("USER") == f"{USER}:{USER}", "no number of root, and no name, which Kubernetes could not judge"
    for word in ("ENTRYPOINT", "CMD"):
        assert (command := json.loads(_last(word)))
        assert "sh" not in {Path(part).name for part in command}
    commands = [json.loads(line.removeprefix("RUN ")) for line in INSTRUCTIONS if line.startswith("RUN ")]
    assert len(commands) >= 3, "all in the exec form"
    assert _last("EXPOSE").split() == ["9443", "8081", "8080"], "the ports of the manifests"


def test_images_are_pinned_to_a_version_or_a_digest() -> None:
    named = [line.partition("=")[2] for line in INSTRUCTIONS if line.startswith("ARG ") and "IMAGE" in line]
    froms = [line.split()[1] for line in INSTRUCTIONS if line.startswith("FROM ")]
    assert named
    assert {name for name in froms if name != "scratch"} <= {"${PYTHON_IMAGE}"}
    for name in named:
        assert re.fullmatch(r"[a-z/]+(:(?!latest)[\w.-]+|@sha256:[0-9a-f]{64})", name), name


def test_only_named_sources_are_copied_and_all_rooms_are() -> None:
    copied = {part for line in INSTRUCTIONS if line.startswith("COPY ") and "--from" not in line for part in line.split()[1:-1]}
    assert "." not in copied, "the whole context may hold keys"
    assert copied == {PACKAGE, *ROOMS, "pyproject.toml", "README.md", "LICENSE", "requirements-server.lock", "manifests/image/collect.py"}
    assert not re.findall(r"(?i)(token|password|secret|api_?key|BEGIN )", "\n".join(INSTRUCTIONS))
