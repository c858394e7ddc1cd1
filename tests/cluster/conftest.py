"""Fixtures of the cluster tests: programs, control planes with our kinds, our server registered at them.

`alpha` serves the versions that the Go operator's webhooks read and that are stored; `beta` serves the v1beta1 form of the kinds that
`alpha` has as v1alpha1. No version needs converting on either, so the conversion strategy stays None. Each module finds them new.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from dynamo_webhooks.api.crd import build as crd
from dynamo_webhooks.api.kinds import KINDS
from dynamo_webhooks.api.line import Line
from tests.cluster.admission import SELECTED, Admission, register, serving
from tests.cluster.assets.build import CONTROL_PLANE
from tests.cluster.assets.wanted import wanted
from tests.cluster.conversion import converting_plane
from tests.cluster.definitions import install
from tests.cluster.harness import ControlPlane
from tests.cluster.planes import Planes
from tests.cluster.reconciling import Reconciled, reconciled

HERE: Final = Path(__file__).parent
# modules that take minutes begin first: one of them that began last would run alone, beside idle processes
LONG: Final = {f"test_{name}.py" for name in ("deep", "definition_guard", "faults", "lines", "moving", "provision", "repairs", "up")}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks everything below this folder, and modules by their name, so that no test forgets it; orders modules by how long they take."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.cluster)
            if item.path.name.startswith("test_neighbours"):
                item.add_marker(pytest.mark.neighbours)
    items.sort(key=lambda item: item.path.name not in LONG)
    # of ways to break one installation a later one may need what the repair of an earlier one leaves, such as newer definitions
    broken = [(place, item) for place, item in enumerate(items) if isinstance(item, pytest.Function) and "broken" in item.fixturenames]
    for (place, _), (_, item) in zip(broken, sorted(broken, key=lambda each: each[1].callspec.indices["broken"]), strict=True):
        items[place] = item


@pytest.fixture(scope="session")
def assets() -> Path:
    """The directory of the programs, built when they are not there; without Go it skips, but never in CI."""
    return wanted(CONTROL_PLANE)


@pytest.fixture(scope="session")
def planes(assets: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Planes]:
    """The control planes of this process: each module gets an empty one."""
    with Planes(assets, tmp_path_factory.mktemp("planes")) as control_planes:
        yield control_planes


@pytest.fixture(scope="session")
def admission(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Admission]:
    """Our server."""
    with serving(tmp_path_factory.mktemp("serve")) as server:
        yield server


@pytest.fixture(scope="module")
def alpha(planes: Planes) -> Iterator[ControlPlane]:
    """A control plane with the kinds in the versions that are stored; nothing is registered."""
    yield from _plane(planes, {kind.name: kind.storage_version for kind in KINDS})


@pytest.fixture(scope="module")
def beta(planes: Planes) -> Iterator[ControlPlane]:
    """A control plane with the kinds in their other version; nothing is registered."""
    yield from _plane(planes, {kind.name: kind.other(kind.storage_version) or kind.storage_version for kind in KINDS})


@pytest.fixture(scope="module")
def guarded_alpha(alpha: ControlPlane, admission: Admission) -> ControlPlane:
    """`alpha` with our webhooks registered for the namespaces that are labelled so; other namespaces stay as without us."""
    register(alpha, admission, "dynamo", SELECTED)
    return alpha


@pytest.fixture(scope="module")
def plane(planes: Planes, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Both versions of all kinds, converted by our server; no admission."""
    with converting_plane(planes, tmp_path_factory.mktemp("plane")) as (control_plane, _):
        yield control_plane


@pytest.fixture(scope="module")
def reconciled_site(planes: Planes, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reconciled]:
    """A control plane with a reconciler, of the module's own."""
    with reconciled(planes, tmp_path_factory.mktemp("reconciled")) as cluster:
        yield cluster


@pytest.fixture
def site(reconciled_site: Reconciled) -> Iterator[Reconciled]:
    """The module's reconciler; pods that the test holds back may become ready after it. Modules with a site of their own override it."""
    yield reconciled_site
    reconciled_site.pods.held.clear()


@pytest.fixture
def guarded(guarded_alpha: ControlPlane) -> str:
    """A new namespace of `alpha` in which our webhooks are asked."""
    return guarded_alpha.namespace(SELECTED)


def _plane(planes: Planes, versions: dict[str, str]) -> Iterator[ControlPlane]:
    with planes.lend() as plane:
        install(plane, *(crd(kind, versions=[version], line=Line.V1_2) for kind, version in versions.items()))
        yield plane
