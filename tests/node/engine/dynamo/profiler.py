"""Stands in for a profiler: finds the graph that the request's image serves at once, and says so in the documented files."""

import argparse
import json
from pathlib import Path
from typing import Any

IMAGE = "localhost/dynamo-webhooks:1.6.0"


def _component(name: str, kind: str, module: str, replicas: int) -> dict[str, Any]:
    main = {"name": "main", "image": IMAGE, "command": ["python3", "-m", module]}
    return {"name": name, "type": kind, "replicas": replicas, "podTemplate": {"spec": {"containers": [main]}}}


def main() -> None:
    """Writes the result before the status that announces it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--config")
    parser.add_argument("--output-dir", type=Path)
    output: Path = parser.parse_args().output_dir
    (output / "profiler_status.yaml").write_text("phase: SweepingDecode\nmessage: half\n")
    parts = [_component("Frontend", "frontend", "dynamo.serving", 1), _component("decode", "worker", "dynamo.vllm", 2)]
    graph = {"apiVersion": "nvidia.com/v1beta1", "kind": "DynamoGraphDeployment", "metadata": {"name": "agg"}}
    (output / "final_config.yaml").write_text(json.dumps({**graph, "spec": {"backendFramework": "vllm", "components": parts}}))
    (output / "profiler_status.yaml").write_text("phase: Done\nmessage: done\nstatus: success\n")


if __name__ == "__main__":
    main()
