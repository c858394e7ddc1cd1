"""What the reconciler tells under the names of the Go operator's framework: of passes that go wrong, and of its queue while it works."""

from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from dynamo_webhooks.kube.resources import Resource
from dynamo_webhooks.reconciler.common.keys import Key
from dynamo_webhooks.reconciler.common.resources import CHECKPOINTS, COMPONENT, GRAPH, MODELS, REQUESTS
from dynamo_webhooks.reconciler.engine.queue import Cause, Queue
from dynamo_webhooks.reconciler.metrics.meters import Gauges, Meters, count_objects
from tests.kube.timing import Timing
from tests.reconciler.site import NAMESPACE, Site, disagg, draft, running, settings
from tools.manual.parts import RECONCILER

CONTROLLER = f'controller="{GRAPH.lower()}"'
LINE = f'{{{CONTROLLER},name="{GRAPH.lower()}"}}'
A, B, C = Key(GRAPH, "n", "a"), Key(GRAPH, "n", "b"), Key(COMPONENT, "n", "c")


class Measured:
    """A queue and what is told of it."""

    def __init__(self) -> None:
        self.timing = Timing()
        self.queue = Queue(clocks=self.timing.clocks(1.0))
        self.meters = Meters()

    def text(self) -> str:
        queued = dict.fromkeys((GRAPH, COMPONENT), 0) | self.queue.waiting()
        return self.meters.export_text({}, Gauges(True, queued, self.queue.turns, 4, 0, 0)).decode()

    def value(self, name: str, labels: str = LINE) -> float:
        return sample(self.text(), f"{name}{labels}")


def sample(text: str, start: str) -> float:
    [value] = [float(line.removeprefix(f"{start} ")) for line in text.splitlines() if line.startswith(f"{start} ")]
    return value


async def text_of(site: Site) -> str:
    return (await site.reconciler.metrics()).decode()


async def test_how_long_keys_wait_and_how_long_work_takes() -> None:
    measured = Measured()
    queue, timing = measured.queue, measured.timing
    for key in (A, B, A):
        queue.add(key)
    queue.add(C, cause=Cause.RESYNC)
    assert measured.value("workqueue_adds_total") == 2, "one that waits already doesn't come again"
    assert measured.value("workqueue_depth") == 2
    await timing.advance(2)
    assert await queue.get() == A
    assert measured.value("workqueue_queue_duration_seconds_sum") == 2
    await timing.advance(3)
    assert await queue.get() == B
    await timing.advance(1)
    assert measured.value("controller_runtime_active_workers", f"{{{CONTROLLER}}}") == 2
    assert measured.value("workqueue_unfinished_work_seconds") == 5
    assert measured.value("workqueue_longest_running_processor_seconds") == 4
    queue.done(A)
    assert measured.value("workqueue_work_duration_seconds_sum") == 4
    assert measured.value("controller_runtime_active_workers", f"{{{CONTROLLER}}}") == 1
    assert measured.value("workqueue_retries_total") == 0
    queue.failed(B)
    assert measured.value("workqueue_retries_total") == 1
    assert measured.value("workqueue_work_duration_seconds_count") == 2
    assert measured.value("workqueue_unfinished_work_seconds") == 0
    await queue.close()


async def test_what_comes_while_it_is_worked_on_waits_from_then() -> None:
    measured = Measured()
    queue, timing = measured.queue, measured.timing
    queue.add(A)
    await queue.get()
    queue.add(A)
    queue.add(A)
    assert measured.value("workqueue_adds_total") == 2
    await timing.advance(7)
    queue.done(A)
    assert await queue.get() == A
    assert measured.value("workqueue_queue_duration_seconds_sum") == 7
    queue.done(A, 5)
    assert measured.value("workqueue_retries_total") == 1
    await timing.advance(5.1)
    assert measured.value("workqueue_adds_total") == 3
    await queue.close()


async def test_who_does_not_lead_any_more_works_on_nothing_and_has_counted_what_it_did() -> None:
    measured = Measured()
    queue = measured.queue
    queue.add(A)
    queue.add(B)
    await queue.get()
    queue.clear()
    await measured.timing.advance(9)
    queue.done(A)  # somebody who was in the midst of it
    assert measured.value("workqueue_unfinished_work_seconds") == 0
    assert measured.value("workqueue_adds_total") == 2
    queue.add(A)
    assert await queue.get() == A
    assert measured.value("workqueue_queue_duration_seconds_sum") == 0


async def test_all_that_is_declared_is_printed_and_nothing_else() -> None:
    measured = Measured()
    measured.meters.count_pass(measured.meters.label(GRAPH, "error", "n"), 0.1)
    measured.meters.errors[measured.meters.label(GRAPH, "internal", "n")] += 1
    measured.queue.add(A)
    await measured.queue.get()
    measured.queue.done(A)
    families = {family.name: family for family in text_string_to_metric_families(measured.text())}
    declared = {each.name: each for each in RECONCILER}
    assert families.keys() == declared.keys()
    for name, family in families.items():
        assert (family.type, family.documentation) == (declared[name].type, declared[name].text)
        assert {label for point in family.samples for label in point.labels} - {"le"} <= {*declared[name].labels}
        assert family.samples or name == "dynamo_operator_resources_total"


async def test_what_should_never_happen_is_zero_until_it_does() -> None:
    async with running() as site:
        await site.rest()
        panics, errors = (f"controller_runtime_{name}_total{{{CONTROLLER}}}" for name in ("reconcile_panics", "terminal_reconcile_errors"))
        before = await text_of(site)
        assert (sample(before, panics), sample(before, errors)) == (0, 0)
        assert sample(before, f"controller_runtime_max_concurrent_reconciles{{{CONTROLLER}}}") == settings().reconciler.workers

        def broken(verb: str, _resource: Resource | None, _namespace: str, _name: str) -> Exception | None:
            return ZeroDivisionError("a fault of ours") if verb == "apply" else None

        mended = site.cluster.fail(broken)
        await site.make(disagg())
        await site.later(1)
        during = await text_of(site)
        assert sample(during, panics) >= 1
        assert sample(during, errors) == 0
        mended()
        refused = disagg("refused")
        refused["metadata"]["annotations"] = {"nvidia.com/dynamo-kube-discovery-mode": "both"}
        await site.make(refused)
        after = await text_of(site)
        assert sample(after, errors) >= 1
        assert sample(after, f"controller_runtime_active_workers{{{CONTROLLER}}}") == 0


async def test_each_kind_is_counted_by_its_own_state() -> None:
    async with running(more="controllers: {models: 'off', checkpoints: 'off', requests: 'off'}\n") as site:
        await site.rest()
        statuses: dict[Any, list[dict[str, Any]]] = {
            CHECKPOINTS: [{"phase": "Failed"}, {"phase": "Ready"}, {}],
            REQUESTS: [{"phase": "Failed"}, {"phase": "Failed"}],
            MODELS: [{"conditions": [{"type": "Ready", "status": "True"}]}, {}],
        }
        counted = await count_objects(site.cache.all, Meters())
        assert counted == {
            ("DynamoCheckpoint", "Failed"): 0,
            ("DynamoGraphDeploymentRequest", "Failed"): 0,
        }
        for resource, several in statuses.items():
            for number, status in enumerate(several):
                await site.user.create(resource, draft(resource, f"o{number}", spec={}, status=status), NAMESPACE)
                await site.kubelet.merge_patch(resource, f"o{number}", {"status": status}, NAMESPACE, subresource="status")
        await site.rest()
        counted = await count_objects(site.cache.all, Meters())
        assert counted == {
            ("DynamoCheckpoint", "Failed"): 1,
            ("DynamoCheckpoint", "Ready"): 1,
            ("DynamoCheckpoint", "Pending"): 1,
            ("DynamoGraphDeploymentRequest", "Failed"): 2,
            ("DynamoModel", "ready"): 1,
            ("DynamoModel", "not_ready"): 1,
        }
        named = await count_objects(site.cache.all, Meters(namespaces=True))
        assert {namespace for *_, namespace in named} == {NAMESPACE}
