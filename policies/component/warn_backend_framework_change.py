"""DYN903: what a change of the backend would do."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.finding import Level
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.review import UPDATE
from dynamo_webhooks.policies.rule import DCD, DGD, Hits, rule
from dynamo_webhooks.policies.unchanged import now_and_before


@rule("DYN903", where={DGD: "", DCD: ""}, on=(UPDATE,), level=Level.WARNING, stage=Stage.ADVICE, ratchets=False)
def warn_backend_framework_change(at: At) -> Hits:
    """An update asks for another backend.

    Why
        It is refused as well; the warning says what it would have meant, for people who think of deleting and creating anew.

    Fix
        Check images, commands and engine arguments of every component before you move to another backend.

    Bad
        ```yaml
        # kind: DynamoComponentDeployment/v1alpha1
        spec: {}
        --- # becomes
        spec:
          backendFramework: vllm  # expect: dcd-backend-immutable, warn-backend-framework-change
        ```

    Good
        ```yaml
        spec: {backendFramework: vllm}
        --- # becomes
        spec: {backendFramework: vllm}
        ```
    """
    if now_and_before(at, "spec.backendFramework"):
        yield at.warning("spec.backendFramework", "a change of backend is risky: images and commands must fit it")
