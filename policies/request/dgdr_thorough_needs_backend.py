"""DYN501: a thorough search over no particular backend."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.review import CREATE
from dynamo_webhooks.policies.rule import REQUEST, Hits, rule

_BACKENDS = ("sglang", "trtllm", "vllm")


@rule("DYN501", where=REQUEST, when="searchStrategy=thorough", stage=Stage.REQUEST)
def dgdr_thorough_needs_backend(at: At) -> Hits:
    """A thorough search is asked for without naming a backend.

    Why
        A thorough search deploys and measures real engines, which takes hours for one backend; it doesn't compare backends.

    Fix
        Name the backend, or use the search strategy rapid, which simulates and may choose the backend itself.

    Bad
        ```yaml
        spec:
          searchStrategy: thorough  # expect
          backend: auto
        ```
        An update is held to the same.
        ```yaml
        spec: {searchStrategy: rapid, backend: auto}
        --- # becomes
        spec:
          searchStrategy: thorough  # expect
          backend: auto
        ```

    Good
        ```yaml
        spec: {searchStrategy: thorough, backend: vllm}
        ```
        ```yaml
        spec: {searchStrategy: rapid, backend: auto}
        ```
    """
    if at.value.get("backend") == "auto":
        wanted = ", ".join(f'"{backend}"' for backend in _BACKENDS)
        text = f'must not be "thorough" while backend is "auto": name one of {wanted}, or search rapid'
        yield at.invalid("searchStrategy", "thorough", text)


dgdr_thorough_needs_backend_in_1_2 = dgdr_thorough_needs_backend.same_in_1_2(
    "Q-30", because="updates are checked like creations", on=(CREATE,)
)
