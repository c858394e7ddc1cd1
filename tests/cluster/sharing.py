"""Which modules share a control plane of the session, and so one worker: each worker that got one of them would start its own."""

from typing import Final

import pytest
from xdist.scheduler import LoadFileScheduling

# fixture of the session -> modules
SHARING: Final = {
    "alpha": "test_kube cli/test_check_cluster cli/test_yaml_scalars webhooks/test_admission webhooks/test_facts",
    "plane": " ".join(f"webhooks/test_{name}" for name in ("apply", "apply_kubectl", "apply_size", "conversion", "faults", "line15")),
}
_FOLDER: Final = "tests/cluster/"
_TOGETHER: Final = {f"{_FOLDER}{name}.py": plane for plane, names in SHARING.items() for name in names.split()}


def shared(item: pytest.Function) -> set[str]:
    """The control planes of the session that a test stands on; a module may have one of its own with the same name."""
    found = item._fixtureinfo.name2fixturedefs
    return {name for name in SHARING if name in found and found[name][-1].scope == "session"}


def listed(item: pytest.Function) -> bool:
    """Whether the table above knows what a test stands on."""
    return not (needed := shared(item)) or needed == {_TOGETHER.get(item.nodeid.partition("::")[0])}


class SharedPlanes(LoadFileScheduling):  # type: ignore[misc] # xdist has no types
    """Gives a worker all tests of a file, and all files that share a control plane."""

    def _split_scope(self, nodeid: str) -> str:
        file: str = super()._split_scope(nodeid)
        return _TOGETHER.get(file, file)
