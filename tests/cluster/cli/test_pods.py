"""What `check` says of a pod template, and what a real API server says of the pod: the same edits, alone and in twos, are refused."""

import random
from datetime import UTC, datetime
from itertools import combinations

from dynamo_webhooks.policies.pods import list_template_mistakes
from tests.cluster.harness import ControlPlane
from tests.policies.pod_edits import EDITS, edited

PAIRS = 600


def test_pods_are_refused_as_foretold(alpha: ControlPlane) -> None:
    seed = int(datetime.now(UTC).strftime("%Y%m%d"))
    # two edits about the same may repeat the key of a list, which the schema of our kinds refuses
    twos = [pair for pair in combinations(EDITS, 2) if len({name.split()[0] for name in pair}) == 2]
    cases = [*((name,) for name in EDITS), *random.Random(seed).sample(twos, PAIRS)]  # noqa: S311 - no secret
    namespace, wrong, refused = alpha.namespace(), [], 0
    for number, names in enumerate(cases):
        spec = edited(*names)
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"p{number}"}, "spec": spec}
        reply = alpha.request("POST", f"/api/v1/namespaces/{namespace}/pods?dryRun=All", pod)
        ours = list_template_mistakes({"spec": spec}, frozenset())
        refused += reply.status >= 400
        if (reply.status >= 400) is not bool(ours):
            wrong.append(f"{' and '.join(names)}: {reply.status} {reply.body.get('message')}: {ours}")
    assert not wrong, f"seed {seed}:\n" + "\n".join(wrong)
    assert len(EDITS) // 2 < refused < len(cases)
