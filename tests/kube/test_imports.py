"""What the rest of kube costs to import: not the Kubernetes client."""

import subprocess
import sys

LIGHT = "answers, clocks, capability, config, errors, events, lease, protocol, reflector, resources, scope"


def test_the_kubernetes_package_is_loaded_with_the_client_alone() -> None:
    program = f"import sys; from dynamo_webhooks.kube import {LIGHT}; print('kubernetes' in sys.modules, 'aiohttp' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]
