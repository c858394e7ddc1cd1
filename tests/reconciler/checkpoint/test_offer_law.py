"""A law of offers: a new pod that the webhook restores is the pod that the next change of the template would make, whatever its fields."""

import copy
from typing import Any, Final

from dynamo_webhooks.api.operator.features import Pvc
from dynamo_webhooks.api.schema import load_schema, resolve
from dynamo_webhooks.policies.facts import Facts
from dynamo_webhooks.reconciler.render.checkpoint.restore import Restore, format_offer, restore_pod, targets_of
from dynamo_webhooks.reconciler.render.checkpoint.storage import Storage
from dynamo_webhooks.reconciler.render.component import component_children
from dynamo_webhooks.reconciler.render.errors import RenderError
from dynamo_webhooks.reconciler.render.observed import Observed
from dynamo_webhooks.reconciler.render.settings import Checkpoints, Settings
from tests.reconciler.render.single_fields import COMPONENT, leaves, pair_alone, text_of
from tests.reconciler.rendering import stored

VERSION: Final = "1.5.0"
ASKED: Final = Checkpoints(enabled=True, gate=True, pvc=Pvc(pvc_name="snaps", base_path="/snaps"), seccomp_profile="p")
SETTINGS: Final = Settings(operator_version=VERSION, lws=True, checkpoints=ASKED)
RESTORE: Final = Restore("0123456789abcdef", "1", Storage("snaps", "/snaps"), "p")


def _template(obj: dict[str, Any], observed: Observed) -> dict[str, Any] | None:
    """The pod template of the component's Deployment; None for another workload, and for one that can't be restored."""
    try:
        made = component_children(stored(copy.deepcopy(obj), VERSION, grove=False, lws=True), SETTINGS, observed)[0]
    except RenderError:
        return None
    template: dict[str, Any] | None = made["spec"]["template"] if made["kind"] == "Deployment" else None
    return template


def test_a_new_pod_is_restored_as_the_template_would_be() -> None:
    schema = resolve(load_schema(COMPONENT, "v1beta1", Facts(operatorVersion=VERSION).line))["properties"]["spec"]
    restored = 0
    for path, _ in leaves(schema):
        _, obj = pair_alone("v1beta1", path, schema)
        cold = _template(obj, Observed())
        if cold is None:
            continue
        offer = format_offer(RESTORE, targets_of(obj["spec"]), "", (COMPONENT, "g-worker"))
        pod = restore_pod(copy.deepcopy(cold), offer, ASKED)
        assert pod == _template(obj, Observed(restores={"g-worker": RESTORE})), text_of(path)
        restored += pod is not None
    assert restored > 100
