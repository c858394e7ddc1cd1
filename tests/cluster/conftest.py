"""Session fixtures of the cluster tests: programs, two control planes with our kinds, our server registered at both.

`alpha` serves the versions that the Go operator's webhooks read and that are stored; `beta` serves the v1beta1 form of the kinds that
`alpha` has as v1alpha1. No version needs converting on either, so the conversion strategy stays None.
"""

from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Final

import pytest

from dynamo_webhooks.api.crd import build as crd
from dynamo_webhooks.api.kinds import KINDS
from tests.cluster.admission import SELECTED, Admission, register, serving
from tests.cluster.assets.build import CONTROL_PLANE
from tests.cluster.assets.wanted import wanted
from tests.cluster.conversion import converting_plane
from tests.cluster.harness import ControlPlane, control_plane
from tests.cluster.processes import RUNNING
from tests.cluster.reconciling import Reconciled, reconciled
from tests.cluster.sharing import listed, shared

HERE: Final = Path(__file__).parent


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Marks everything below this folder, and modules by their name, so that no test can forget it; gives it a second try in CI."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.cluster)
            if config.pluginmanager.hasplugin("rerunfailures"):  # in CI
                item.add_marker(pytest.mark.flaky(reruns=1))
            if item.path.name.startswith("test_neighbours"):
                item.add_marker(pytest.mark.neighbours)
            if isinstance(item, pytest.Function) and not listed(item):
                raise pytest.UsageError(f"{item.nodeid} stands on {sorted(shared(item))}: name its module in tests/cluster/sharing.py")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Adds the tails of the running processes' logs to the report of a failure."""
    report = yield
    if report.failed and HERE in item.path.parents:
        report.sections.extend((f"{process.name} ({process.log})", process.tail(25)) for process in RUNNING)
    return report


@pytest.fixture(scope="session")
def assets() -> Path:
    """The directory of the programs, built when they are not there; without Go it skips, but never in CI."""
    return wanted(CONTROL_PLANE)


@pytest.fixture(scope="session")
def admission(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Admission]:
    """Our server."""
    with serving(tmp_path_factory.mktemp("serve")) as server:
        yield server


@pytest.fixture(scope="session")
def alpha(assets: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A control plane with the kinds in the versions that are stored; nothing is registered."""
    yield from _plane(assets, tmp_path_factory.mktemp("alpha"), {kind.name: kind.storage_version for kind in KINDS})


@pytest.fixture(scope="session")
def beta(assets: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A control plane with the kinds in their other version; nothing is registered."""
    yield from _plane(
        assets, tmp_path_factory.mktemp("beta"), {kind.name: kind.other(kind.storage_version) or kind.storage_version for kind in KINDS}
    )


@pytest.fixture(scope="session")
def guarded_alpha(alpha: ControlPlane, admission: Admission) -> ControlPlane:
    """`alpha` with our webhooks registered for the namespaces that are labelled so; other namespaces stay as without us."""
    register(alpha, admission, "dynamo", SELECTED)
    return alpha


@pytest.fixture(scope="session")
def guarded_beta(beta: ControlPlane, admission: Admission) -> ControlPlane:
    """`beta` with our webhooks registered for the namespaces that are labelled so."""
    register(beta, admission, "dynamo", SELECTED)
    return beta


@pytest.fixture(scope="session")
def plane(assets: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Both versions of all kinds, converted by our server; no admission. Modules that restart it, or kill our server, have their own."""
    with converting_plane(assets, tmp_path_factory.mktemp("plane")) as (found, _):
        yield found


@pytest.fixture(scope="module")
def reconciled_site(assets: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reconciled]:
    """A control plane with a reconciler, of the module's own."""
    with reconciled(assets, tmp_path_factory.mktemp("reconciled")) as found:
        yield found


@pytest.fixture
def site(reconciled_site: Reconciled) -> Iterator[Reconciled]:
    """The module's reconciler; pods that the test holds back may become ready after it. Modules with a site of their own override it."""
    yield reconciled_site
    reconciled_site.pods.held.clear()


@pytest.fixture
def guarded(guarded_alpha: ControlPlane) -> str:
    """A new namespace of `alpha` in which our webhooks are asked."""
    return guarded_alpha.namespace(SELECTED)


def _plane(assets: Path, home: Path, versions: dict[str, str]) -> Iterator[ControlPlane]:
    with control_plane(assets, home) as plane:
        plane.install(*(crd(kind, versions=[version]) for kind, version in versions.items()))
        yield plane
