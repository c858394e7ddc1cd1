"""Puts a pod spec together. The order of the steps decides the order of lists in the result, so it is part of the behaviour."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Final

from dynamo_webhooks.reconciler.render import failover, gms, sidecar
from dynamo_webhooks.reconciler.render.discovery import by_kubernetes
from dynamo_webhooks.reconciler.render.framework import main_of
from dynamo_webhooks.reconciler.render.merge import items, merged, merged_env
from dynamo_webhooks.reconciler.render.names import EPP, MAIN, PICKER_ACCOUNT, PICKER_CONFIG, PLANNER, discovery_account
from dynamo_webhooks.reconciler.render.planner import ACCOUNT
from dynamo_webhooks.reconciler.render.pod.container import main_container
from dynamo_webhooks.reconciler.render.pod.env import infrastructure_env
from dynamo_webhooks.reconciler.render.pod.frameworks import cache_mount, change_main, change_pod
from dynamo_webhooks.reconciler.render.pod.secrets import add_pull_secrets
from dynamo_webhooks.reconciler.render.pod.volumes import add_claim, add_shared_memory, settle

if TYPE_CHECKING:
    from dynamo_webhooks.conversion.lens.protocol import Fields
    from dynamo_webhooks.reconciler.render.pod.plan import PodPlan
    from dynamo_webhooks.reconciler.render.settings import Settings

_GRACE: Final = 60  # seconds; the endpoint picker drains longer than a pod of inference
_PICKER_GRACE: Final = 130
_GROUP: Final = {"fsGroup": 1000}  # so that a user without root can write to mounted volumes


def pod_spec(plan: PodPlan, settings: Settings) -> Fields:
    """The spec of one pod, complete but for what only its orchestrator adds.

    Raises: RenderError when the component can't be made into a pod.
    """
    spec = plain_pod_spec(plan, settings)
    gms.share_gpus(spec, plan)
    failover.double_engine(spec, plan)
    if not spec.get("serviceAccountName") and settings.service_account:
        spec["serviceAccountName"] = settings.service_account
    return spec


def plain_pod_spec(plan: PodPlan, settings: Settings) -> Fields:
    """The spec of one pod before containers share GPUs or double: what a checkpoint is taken of.

    Raises: RenderError when the component can't be made into a pod.
    """
    user: Fields = copy.deepcopy((plan.component.get("podTemplate") or {}).get("spec") or {})
    main, inherited = _main(plan, user, settings)
    spec = _merged_spec(plan, user, settings)
    cache = cache_mount(plan)
    if cache:
        add_claim(spec, cache["name"])
    add_shared_memory(spec, main, plan.component.get("sharedMemorySize"))
    others = [one for one in items(user.get("containers")) if one.get("name") != MAIN]
    spec["containers"] = [main, *others]
    sidecar.complete(spec, plan, inherited, settings)
    change_pod(spec, main, plan, settings)
    settle(spec, main)
    add_pull_secrets(spec, plan.annotations, settings)
    return spec


def _main(plan: PodPlan, user: Fields, settings: Settings) -> tuple[Fields, list[Fields]]:
    """The main container, and its mounts before framework and shared memory, which a sidecar inherits."""
    cache = cache_mount(plan)
    written = main_of({"podTemplate": {"spec": user}})
    if cache:
        # v1alpha1 flags a mount as cache and may leave its path out; where it goes, the framework then says
        mounts = [
            cache if one.get("name") == cache["name"] and not one.get("mountPath") else one for one in items(written.get("volumeMounts"))
        ]
        written = {**written, "volumeMounts": mounts}
    main = main_container(plan, written, settings)
    mounts = items(main.get("volumeMounts"))
    if cache:
        # a mount of the same cache may be there already, from a v1alpha1 flag
        mounts = [*(one for one in mounts if one.get("mountPath") != cache["mountPath"]), cache]
    if mounts:
        main["volumeMounts"] = mounts
    main["env"] = merged_env(infrastructure_env(settings), items(main.get("env")))
    change_main(main, plan, settings)
    return main, [dict(one) for one in mounts]


def _merged_spec(plan: PodPlan, user: Fields, settings: Settings) -> Fields:
    """The type's own pod spec with the user's over it, without containers."""
    picker = plan.type == EPP
    base: Fields = {"restartPolicy": "Always", "terminationGracePeriodSeconds": _PICKER_GRACE if picker else _GRACE}
    if plan.type == PLANNER:
        base["serviceAccountName"] = ACCOUNT
    elif picker:
        base["serviceAccountName"] = PICKER_ACCOUNT
    spec = merged(base, {name: value for name, value in user.items() if name != "containers"})
    if picker:
        # the picker's own two volumes stay unless the user has volumes of their names
        own = items(spec.get("volumes"))
        spec["volumes"] = [one for one in _picker_volumes(plan) if one["name"] not in {mine.get("name") for mine in own}] + own
    if user.get("securityContext") is None:
        spec["securityContext"] = dict(_GROUP)
    if not spec.get("serviceAccountName") and by_kubernetes(plan.annotations, settings):
        spec["serviceAccountName"] = discovery_account(plan.parent)
    return spec


def _picker_volumes(plan: PodPlan) -> list[Fields]:
    reference = (plan.component.get("eppConfig") or {}).get("configMapRef") or {}
    source = {
        "name": reference.get("name") or f"{plan.parent}-epp-config",
        "items": [{"key": reference.get("key") or PICKER_CONFIG, "path": PICKER_CONFIG}],
    }
    return [{"name": "epp-config", "configMap": source}, {"name": "hf-cache", "emptyDir": {}}]
