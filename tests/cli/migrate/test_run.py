"""Runs against a server in memory: what they find, refuse, repeat and survive."""

import asyncio
import json
from typing import Any

import jsonschema_rs
import pytest

from dynamo_webhooks.api.crd import ALLOW_DATA_LOSS
from dynamo_webhooks.api.kinds import ALPHA, BETA, BY_NAME
from dynamo_webhooks.api.line import Line
from dynamo_webhooks.cli.commands.migrate import listing, rewrite_all
from dynamo_webhooks.cli.commands.migrate.definition import OBSERVED
from dynamo_webhooks.cli.commands.migrate.preflight import STAMP
from dynamo_webhooks.cli.commands.migrate.progress import Progress
from dynamo_webhooks.cli.commands.migrate.report import as_text
from dynamo_webhooks.cli.commands.migrate.run import MigrationRun
from dynamo_webhooks.cli.commands.schema.outputs import load
from dynamo_webhooks.kube.errors import ApiError, ConflictError, UnavailableError
from tests.cli.migrate.store import CONVERTED, DGD, REFUSAL, SPEC, Store, context, filled, ran

AWAY = 'conversion webhook for nvidia.com/v1alpha1 failed: Post "https://x/convert": dial tcp: connection refused'


async def test_all_objects_move_and_the_status_says_so_afterwards() -> None:
    store, messages = await filled(), list[str]()
    report = await ran(store, messages, kinds=CONVERTED)
    assert report.proven
    assert {*store.forms.values()} == {BETA}
    for kind in CONVERTED:
        crd = store.crd(kind)
        assert crd["status"]["storedVersions"] == [BETA]
        assert crd["metadata"]["annotations"][OBSERVED] == str(crd["metadata"]["generation"])
    graphs = next(each for each in report.kinds if each.kind == DGD)
    assert (graphs.objects, graphs.moved, graphs.already_there, graphs.passes) == (5, 5, 0, 2)
    assert f"{BY_NAME[DGD].crd_name}: new writes are stored in {BETA}" in messages
    assert "5 moved, 0 already there" in as_text(report)
    assert as_text(report).endswith(" s\n")


async def test_a_dry_run_asks_and_writes_nothing() -> None:
    store = await filled()
    store.writes.clear()
    report = await ran(store, dry_run=True)
    assert (store.writes, store.touched) == ([], [])
    assert [each.moved for each in report.kinds if each.kind == DGD] == [5]
    mixed = await ran(await filled(store=Store(BETA, (ALPHA, BETA))), dry_run=True)
    assert [each.moved for each in mixed.kinds if each.kind == DGD] == [None]
    assert "up to 5 would be moved: storedVersions names v1alpha1 and v1beta1" in as_text(mixed)


async def test_an_object_that_is_refused_is_named_and_keeps_the_status_as_it_is() -> None:
    store = await filled()
    store.broken = lambda name: UnavailableError(500, "InternalError", REFUSAL) if name == "g-02" else None
    report = await ran(store)
    assert not report.proven
    [graphs] = [each for each in report.kinds if each.kind == DGD]
    assert (graphs.refused, graphs.moved, graphs.proven) == (1, 4, False)
    assert [(note.object, note.text) for note in graphs.notes.of("refused")] == [("n/g-02", REFUSAL)]
    assert store.crd()["status"]["storedVersions"] == [ALPHA]
    assert all(each.proven for each in report.kinds if each.kind != DGD)


async def test_an_object_whose_keys_one_version_lacks_moves_by_the_other() -> None:
    store = await filled()
    untyped = UnavailableError(500, "InternalError", "failed to create typed live object (n/g-02): element omits all key fields")
    store.broken = lambda name: untyped if name == "g-02" and store.asked_in == BETA else None
    report = await ran(store)
    [graphs] = [each for each in report.kinds if each.kind == DGD]
    assert (graphs.moved, graphs.refused, graphs.proven) == (5, 0, True)
    assert {*store.forms.values()} == {BETA}
    store.broken = lambda name: untyped if name == "g-02" else None
    assert [each.refused for each in (await ran(store)).kinds if each.kind == DGD] == [1]


async def test_an_outage_is_waited_for_and_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    store, messages, failures = await filled(), list[str](), iter(range(40))
    monkeypatch.setattr(listing, "_REPORT_AFTER_SECONDS", -1.0)

    def away(_: str) -> ApiError | None:
        busy = store.touched and next(failures, None) is not None
        return UnavailableError(500, "InternalError", AWAY) if busy else None

    store.broken = away
    report = await ran(store, messages)
    assert report.proven
    assert sum(line.startswith("paused, and trying again") for line in messages) == 1
    assert sum(line.startswith("going on after a pause") for line in messages) == 1


async def test_patience_ends() -> None:
    store = await filled()
    store.broken = lambda _: UnavailableError(500, "InternalError", AWAY) if store.storage_of(DGD) == BETA else None
    report = await ran(store, patience=0.0)
    assert (report.unreachable, report.failed, report.proven) == (True, AWAY, False)
    assert store.crd()["status"]["storedVersions"] == [ALPHA]


async def test_a_list_that_expires_goes_on_and_conflicts_are_tried_again() -> None:
    store, conflicts = await filled(), iter(range(3))
    store.page_limit, store.expire_at = 2, 2
    store.broken = lambda _: (
        ConflictError(409, "Conflict", "somebody was faster") if store.touched and next(conflicts, None) is not None else None
    )
    assert (await ran(store)).proven
    assert {*store.forms.values()} == {BETA}


async def test_objects_that_go_meanwhile_are_no_error() -> None:
    store = await filled()
    gone: list[object] = []

    def going(name: str) -> ApiError | None:
        if name == "g-00" and store.storage_of(DGD) == BETA and not gone:
            gone.append(store.storage.records.pop(("nvidia.com", BY_NAME[DGD].plural, "n", "g-04")))
        return None

    store.broken = going
    report = await ran(store, workers=1)
    assert report.proven
    assert [each.objects for each in report.kinds if each.kind == DGD] == [4]


async def test_writes_of_others_are_not_taken_for_moves() -> None:
    store = await filled(store=Store(BETA, (BETA,)))

    def busy(name: str) -> ApiError | None:
        record = store.storage.records["nvidia.com", BY_NAME[DGD].plural, "n", name]
        store.storage.version += 1
        record.obj["metadata"] |= {"resourceVersion": str(store.storage.version), "annotations": {"count": str(store.storage.version)}}
        return None

    store.broken = busy
    report = await ran(store)
    [graphs] = [each for each in report.kinds if each.kind == DGD]
    assert (graphs.moved, graphs.written_by_others, graphs.proven) == (0, 5, True)


async def test_stored_versions_that_are_not_true_are_told() -> None:
    store = await filled(store=Store(BETA, (BETA,)))
    for key in store.forms:
        store.forms[key] = ALPHA
    report = await ran(store, verify=True)
    [graphs] = [each for each in report.kinds if each.kind == DGD]
    assert (graphs.untrue, graphs.moved, graphs.proven) == (5, 5, True)
    assert "storedVersions named v1beta1 alone, and 5 objects were stored in another version" in as_text(report)


@pytest.mark.parametrize("verify", [False, True])
async def test_with_nothing_to_move_nothing_is_waited_for(verify: bool) -> None:
    report = await asyncio.wait_for(ran(await filled(store=Store(BETA, (BETA,))), settle=600.0, verify=verify), 60)
    assert report.proven
    [graphs] = [each for each in report.kinds if each.kind == DGD]
    assert (graphs.moved, graphs.already_there, graphs.passes) == (0, 5, 1)


@pytest.mark.parametrize(("storage", "stored"), [(BETA, (ALPHA, BETA)), (ALPHA, (ALPHA,)), (BETA, (BETA,))])
async def test_writes_under_way_are_waited_for_before_the_proof(storage: str, stored: tuple[str, ...]) -> None:
    store = await filled(store=Store(storage, stored))
    for key in store.forms:  # also where the status doesn't say so
        store.forms[key] = ALPHA
    report = await ran(store, settle=0.5)
    assert report.proven
    assert report.seconds >= 0.5
    [graphs] = [each for each in report.kinds if each.kind == DGD]
    assert (graphs.moved, graphs.passes) == (5, 2)


async def test_a_version_that_is_not_served_any_more_can_be_proven_away() -> None:
    store = await filled(store=Store(BETA, (BETA,)))
    for kind in CONVERTED:
        store.crd(kind)["spec"]["versions"][0]["served"] = False
    assert "must serve v1alpha1 and v1beta1" in (await ran(store)).blocked[0]
    assert (await ran(store, verify=True)).proven
    untyped = UnavailableError(500, "InternalError", "failed to create typed live object (n/g-02): element omits all key fields")
    store.broken = lambda name: untyped if name == "g-02" else None
    store.unserved = {ALPHA}
    [graphs] = [each for each in (await ran(store, verify=True)).kinds if each.kind == DGD]
    assert (graphs.refused, graphs.objects, graphs.proven) == (1, 5, False)
    del store.crd()["spec"]["versions"][0]
    assert "lacks v1alpha1" in (await ran(store, verify=True)).blocked[0]


async def test_only_a_namespace_leaves_the_status() -> None:
    store = await filled()
    report = await ran(store, namespace="n")
    assert report.proven
    assert store.crd()["status"]["storedVersions"] == [ALPHA]
    assert "all objects of namespace n are stored in v1beta1" in as_text(report)


async def test_the_way_back_acknowledges_itself_and_takes_that_back() -> None:
    store = await filled(store=Store(BETA, (BETA,)))
    store.crd()["metadata"]["annotations"] = {ALLOW_DATA_LOSS: "false"}
    seen = []
    store.fail(lambda verb, resource, *_: seen.append((verb, store.crd()["metadata"]["annotations"][ALLOW_DATA_LOSS])))
    report = await ran(store, to=ALPHA)
    assert report.proven
    assert ("merge_patch", "true") in seen
    assert store.crd()["metadata"]["annotations"][ALLOW_DATA_LOSS] == "false"
    assert {*store.forms.values()} == {ALPHA}
    assert len(report.warnings) == 2


@pytest.mark.parametrize(("stamp", "warned"), [("1.7.0", True), ("1.6.2", False), ("", False)])
async def test_a_definition_that_a_later_operator_applied_is_told_with_the_releases_between(stamp: str, warned: bool) -> None:
    store = await filled()
    store.crd()["metadata"]["annotations"] = {STAMP: stamp}
    assert ("upgrade from operator 1.5 to 1.6, then to 1.7: no release may be left out" in (await ran(store)).warnings) == warned


class _Killed(BaseException):
    """The end of a process: nothing catches it."""


@pytest.mark.parametrize("options", [{"to": ALPHA}, {"to": BETA}, {"to": BETA, "namespace": "n"}, {"to": ALPHA, "namespace": "n"}])
async def test_what_a_run_acknowledged_that_was_killed_in_the_flip_is_taken_back_by_the_next(options: dict[str, Any]) -> None:
    store, messages = await filled(store=Store(BETA, (BETA,))), list[str]()

    def killed(verb: str, *_: object) -> None:
        if verb == "merge_patch":
            raise _Killed

    alive = store.fail(killed)
    with pytest.raises(_Killed):
        await ran(store, to=ALPHA)
    alive()
    [left] = [kind for kind in CONVERTED if store.crd(kind)["metadata"].get("annotations", {}).get(ALLOW_DATA_LOSS) == "true"]
    seen = []
    store.broken = lambda _: seen.append(store.crd(left)["metadata"]["annotations"][ALLOW_DATA_LOSS]) if store.touched else None
    assert (await ran(store, messages, **options)).proven
    assert {*seen} == {"false"}, "objects were written while updates that lose data were accepted"
    assert f"{BY_NAME[left].crd_name}: {ALLOW_DATA_LOSS} is taken back, which an earlier run left" in messages
    assert (await ran(store, messages := [], **options)).proven
    assert not [line for line in messages if ALLOW_DATA_LOSS in line]


async def test_a_definition_that_is_flipped_back_meanwhile_is_flipped_again() -> None:
    store, messages, once = await filled(), list[str](), [1]

    def again(name: str) -> ApiError | None:
        if store.touched and once:
            once.clear()
            for version in store.crd()["spec"]["versions"]:
                version["storage"] = version["name"] == ALPHA
            store.crd()["metadata"]["resourceVersion"] = "999999"
        return None

    store.broken = again
    assert (await ran(store, messages)).proven
    assert any(line.startswith("started again, because a definition was changed meanwhile") for line in messages)
    assert {*store.forms.values()} == {BETA}


async def test_definitions_that_are_not_fit_stop_it_before_the_first_write() -> None:
    store = await filled()
    crd = store.crd()
    crd["spec"]["conversion"] = {"strategy": "None"}
    crd["spec"]["versions"][0]["served"] = False
    crd["metadata"]["annotations"] = {OBSERVED: "7"}
    beta = crd["spec"]["versions"][1]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    del beta["components"]["items"]["properties"]["replicas"]
    store.storage.records.pop(("apiextensions.k8s.io", "customresourcedefinitions", "", BY_NAME[CONVERTED[1]].crd_name))
    store.denied = {("patch", "customresourcedefinitions/status"), ("list", BY_NAME[CONVERTED[3]].plural)}
    report = await ran(store, kinds=CONVERTED)
    text = as_text(report)
    for words in (
        "must serve v1alpha1 and v1beta1, and lacks v1alpha1",
        "spec.conversion.strategy must be Webhook",
        "lacks v1beta1 spec.components[].replicas",
        f"the annotation {OBSERVED} must be the generation 1, and is 7",
        f"{BY_NAME[CONVERTED[1]].crd_name}: the CustomResourceDefinition is not there",
        "must be allowed to patch customresourcedefinitions/status",
        f"must be allowed to list {BY_NAME[CONVERTED[3]].plural}",
        "nothing was changed",
    ):
        assert words in text
    assert store.touched == []
    crd["metadata"]["annotations"] = {OBSERVED: "7"}
    assert not any(OBSERVED in reason for reason in (await ran(store, kinds=CONVERTED, take_over=True)).blocked)


async def test_fields_that_a_lowered_definition_lacks_stop_it() -> None:
    store = Store(line=Line.V1_2)
    await store.put(DGD, "g", SPEC)
    fields: dict[str, Any] = {"f:spec": {"f:components": {'k:{"name":"w"}': {"f:minAvailable": {}}}}}
    store.storage.records["nvidia.com", BY_NAME[DGD].plural, "n", "g"].obj["metadata"]["managedFields"] = [{"fieldsV1": fields}, None]
    report = await ran(store)
    assert "n/g hold fields of a later operator release than that of the definitions" in report.blocked[0]


async def test_objects_that_the_converter_refuses_before_stop_it() -> None:
    store = await filled()
    store.broken = lambda _: UnavailableError(500, "InternalError", AWAY)
    report = await ran(store)
    assert report.blocked == [f"{BY_NAME[DGD].crd_name}: objects must be converted both ways, and are not: {AWAY}"]
    assert store.storage_of(DGD) == ALPHA


async def test_a_stop_ends_between_two_writes() -> None:
    store = await filled(20)
    made = context(store, workers=1)

    def stop(_: str) -> ApiError | None:
        if len(store.touched) == 7:
            made.stop()
        return None

    store.broken = stop
    report = await MigrationRun(made, Progress(lambda _: None)).run()
    assert (report.stopped, len(store.touched)) == (True, 8)
    assert "run it again to go on" in as_text(report)
    assert (await ran(store)).proven


async def test_managers_of_a_version_are_listed() -> None:
    store = await filled()
    for index in range(3):
        entry = {"manager": "kubectl", "operation": "Apply", "apiVersion": "nvidia.com/v1alpha1", "fieldsV1": {}}
        metadata = store.storage.records["nvidia.com", BY_NAME[DGD].plural, "n", f"g-{index:02}"].obj["metadata"]
        metadata["managedFields"] = [entry, None, entry]
    report = await ran(store, retire=ALPHA)
    assert report.retire is not None
    names = ["n/g-00", "n/g-01", "n/g-02"]
    row = {"kind": DGD, "manager": "kubectl", "operation": "Apply", "part": "", "objects": 3, "examples": names}
    assert [each for each in report.retire["managers"] if each["manager"] == "kubectl"] == [row]
    assert "v1alpha1: 5 objects have managed fields in this version" in as_text(report)


async def test_a_rate_bounds_the_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    store, slept = await filled(), list[float]()
    made = context(store, rate=100.0, workers=1)

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        await asyncio.sleep(0)

    monkeypatch.setattr(made, "sleep", sleep)
    monkeypatch.setattr(rewrite_all, "monotonic", lambda: 5.0)
    await MigrationRun(made, Progress(lambda _: None)).run()
    pauses = [seconds for seconds in slept if seconds > 0]
    assert pauses[:4] == pytest.approx([0.01, 0.02, 0.03, 0.04])


async def test_reports_are_as_their_schema_says() -> None:
    check = jsonschema_rs.Draft202012Validator(load("migrate"))
    reports = [await ran(await filled(store=Store(BETA, (ALPHA, BETA))), retire=ALPHA, dry_run=dry) for dry in (True, False)]
    store = await filled()
    store.broken = lambda name: UnavailableError(500, "InternalError", REFUSAL) if name == "g-02" else None
    reports.append(await ran(store))
    store.crd()["spec"]["conversion"] = {"strategy": "None"}
    reports.append(await ran(store))
    assert [bool(report.blocked) for report in reports] == [False, False, False, True]
    for report in reports:
        data = json.loads(json.dumps(report.as_data()))
        assert check.is_valid(data), [str(error) for error in check.iter_errors(data)]
    assert not check.is_valid({**data, "kinds": [{}]})
    assert not check.is_valid({key: value for key, value in data.items() if key != "blocked"})
