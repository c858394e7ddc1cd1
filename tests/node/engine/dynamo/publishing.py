"""Publishes a worker with the account of its pod, as the runtime does, and looks for others and for endpoints."""

import json
import os
import ssl
import urllib.request
from pathlib import Path
from typing import Any, Final

_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")


def _ask(path: str, body: Any = None) -> Any:
    """What the API server answers. Raises: HTTPError where the account may not ask."""
    headers = {"Authorization": f"Bearer {(_ACCOUNT / 'token').read_text()}", "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"https://{os.environ['KUBERNETES_SERVICE_HOST']}{path}", data, headers)
    context = ssl.create_default_context(cafile=str(_ACCOUNT / "ca.crt"))
    with urllib.request.urlopen(request, context=context) as answer:  # noqa: S310 - the API server's address
        return json.load(answer)


def publish() -> None:
    """Publishes it in an object that goes with its pod."""
    pod, namespace = os.environ["POD_NAME"], os.environ["POD_NAMESPACE"]
    owner = {"apiVersion": "v1", "kind": "Pod", "name": pod, "uid": os.environ["POD_UID"]}
    workers = f"/apis/nvidia.com/v1alpha1/namespaces/{namespace}/dynamoworkermetadatas"
    metadata = {"name": pod, "ownerReferences": [owner]}
    made = {"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoWorkerMetadata", "metadata": metadata, "spec": {"data": {}}}
    if pod not in {each["metadata"]["name"] for each in _ask(workers)["items"]}:  # the container may have been started anew
        _ask(workers, made)
    _ask(f"/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices")


publish()
