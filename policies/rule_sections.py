"""The documentation of a rule: its title, and sections below headings, the last ones with examples.

An example is a diff that removes the mistake; an empty line separates examples. A line such as `{worker}` is short for the lines that
`_BASES` has for it, and `wired` for a checkpoint whose pod is wired for the GPU memory service; pages show them written out.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final

SECTIONS: Final = ("Why", "Fix", "Example")
DEFAULT_SECTIONS: Final = ("Why", "Before", "After")
HEADINGS: Final = frozenset({*SECTIONS, *DEFAULT_SECTIONS})
_EXPECTED: Final = re.compile(r" *# expect\b.*")

_COMPONENTS: Final = "  components:\n    - name: worker\n      type: worker"
_IMAGE: Final = '      podTemplate: {spec: {containers: [{name: main, image: "example/vllm:1.5.0"}]}}'
_GPU: Final = '      podTemplate: {spec: {containers: [{name: main, resources: {limits: {nvidia.com/gpu: "1"}}}]}}'
_ROLES: Final = (
    '- {name: agent, podTemplate: {spec: {containers: [{name: main, image: "example/lpx:1.6.0"}]}}}',
    '- {name: conductor, podTemplate: {spec: {containers: [{name: main, image: "example/lpx:1.6.0"}]}}}',
)


def _below_spec(block: str) -> str:
    """Members of a spec without their indentation."""
    return block.removeprefix("  ").replace("\n  ", "\n")


_BASES: Final = {
    "worker component": _below_spec(_COMPONENTS),
    "worker component with a GPU": _below_spec(f"{_COMPONENTS}\n{_GPU}"),
    "worker": f"spec:\n{_COMPONENTS}",
    "worker with an image": f"spec:\n{_COMPONENTS}\n{_IMAGE}",
    "worker with a GPU": f"spec:\n{_COMPONENTS}\n{_GPU}",
    "worker with a pod": f"spec:\n{_COMPONENTS}\n      podTemplate:\n        spec:",
    "worker on two nodes": f"spec:\n{_COMPONENTS}\n      multinode: {{nodeCount: 2}}\n      roles:",
    "vllm worker": f"spec:\n  backendFramework: vllm\n{_COMPONENTS}",
    "vllm worker with a GPU": f"spec:\n  backendFramework: vllm\n{_COMPONENTS}\n{_GPU}",
    "lpx worker": "spec:\n  components:\n    - name: worker\n      type: lpx\n      lpx: {buildId: b}",
    "picker": "spec:\n  components:\n    - name: picker\n      type: epp",
    "worker service": "spec:\n  services:\n    worker:\n      componentType: worker",
    "frontend service": "spec:\n  services:\n    frontend:\n      componentType: frontend",
    "claim of models": "spec:\n  pvcs:\n    - name: models\n      create: true",
    "KV transfer policy": "spec:\n  experimental:\n    kvTransferPolicy:",
    "override of a clique": "providerOverride:\n  apiVersion: grove.io/v1alpha1\n  target: PodCliqueTemplateSpec",
    "agent and conductor": "\n".join(_ROLES),
    "lpx roles": "\n  ".join(("lpx: {buildId: b}\nroles:", *_ROLES)),
    "annotations": "metadata:\n  annotations:",
    "containers of a pod": "podTemplate:\n  spec:\n    containers:",
}
_BASE: Final = re.compile(rf"^( *[-+]? *)\{{({'|'.join(_BASES)})\}}$", re.MULTILINE)

_CLIENT: Final = {
    "resources": "    resources: {claims: [{name: intrapod-shared-gpu}]}",
    "volumeMounts": "    volumeMounts: [{name: gms-intrapod-control, mountPath: /gms-intrapod-control}]",
    "env": "    env: [{name: GMS_SOCKET_DIR, value: /gms-intrapod-control}]",
}
# a checkpoint whose pod is wired, line by line
_WIRED: Final = {
    "facts": "# facts: {allowGmsSnapshot: true}",
    "spec": "spec:",
    "gpuMemoryService": "  gpuMemoryService: {enabled: true}",
    "job": "  job:\n    podTemplateSpec:\n      spec:",
    "resourceClaims": "        resourceClaims: [{name: intrapod-shared-gpu, resourceClaimTemplateName: gpus}]",
    "volumes": "        volumes: [{name: gms-intrapod-control, emptyDir: {}}]",
    "initContainers": "        initContainers:\n          - name: gms-server\n            image: example/server:1",
    "initContainers.restartPolicy": "            restartPolicy: Always",
    **{f"initContainers.{field}": f"        {line}" for field, line in _CLIENT.items()},
    "containers": "        containers:",
    "containers.name": "          - name: main",
    "containers.image": "            image: example/worker:1",
    **{f"containers.{field}": f"        {line}" for field, line in _CLIENT.items()},
}
_WIRING: Final = re.compile(
    r"^( *[-+]?)wired(?: without (?P<absent>\S+)| with (?P<field>\S+): (?P<value>.+?))?(?P<mark>  # expect)?$", re.MULTILINE
)


class RuleError(ImportError):
    """A rule that is declared wrongly; its module does not import."""


def require_headings(name: str, check: Callable[..., object], headings: tuple[str, ...]) -> None:
    """Looks for the title and the headings of a rule or default. Raises: RuleError if one is missing."""
    text = check.__doc__ or ""
    missing = [heading for heading in headings if f"\n    {heading}\n" not in text and f"\n{heading}\n" not in text]
    if missing or not text.split("\n", 1)[0].strip():
        raise RuleError(
            f"rule {name}: the doc string must have a title and the sections {', '.join(headings)}; missing {', '.join(missing)}"
        )


def read_documentation(name: str, check: Callable[..., object]) -> str:
    """The documentation of a rule or default. Raises: RuleError if its examples show one side alone."""
    first, _, rest = (check.__doc__ or "").partition("\n")
    documentation = _WIRING.sub(_wire, _BASE.sub(_write_base, f"{first}\n{_dedent(rest)}"))  # dedented as Python 3.13 and newer have it
    examples = read_examples(documentation)
    if not (any(bad for bad, _ in examples) and any(good for _, good in examples)):
        raise RuleError(f"rule {name}: its examples must hold YAML, and not only lines of one sign")
    return documentation


def _write_base(example: re.Match[str]) -> str:
    return "\n".join(example[1] + line for line in _BASES[example[2]].split("\n"))


def _wire(example: re.Match[str]) -> str:
    """The checkpoint without one of its fields, or with another value of one; a mark at the end moves to the line of its service."""
    absent, field, value, mark = example.group("absent", "field", "value", "mark")
    lines = {name: line for name, line in _WIRED.items() if not absent or not f"{name}.".startswith(f"{absent}.")}
    if field:
        lines[field] = f"{lines[field].partition(': ')[0]}: {value}"
    lines["gpuMemoryService"] += mark or ""
    return "\n".join(example[1] + line for line in "\n".join(lines.values()).split("\n"))


@lru_cache(maxsize=512)  # as many as there are rules, and users' own
def split_sections(documentation: str) -> dict[str, str]:
    """The text below each heading; the title below the empty one."""
    first, *lines = documentation.strip().split("\n")
    sections, current = {"": first.strip()}, ""
    for line in lines:
        if line in HEADINGS:
            current = line
            sections[current] = ""
        elif current:
            sections[current] += line + "\n"
    return sections


def _split_blocks(section: str) -> tuple[str, ...]:
    return tuple(_dedent(block) for block in section.strip("\n").split("\n\n") if block.strip())


def read_examples(documentation: str) -> tuple[tuple[str, str], ...]:
    """Each example with the mistake, where the findings are marked, and without it; "" on the side that it lacks.

    For a default the objects before it and after it.
    """
    sections = split_sections(documentation)
    if "Example" not in sections:
        return tuple(zip(*(_split_blocks(sections.get(heading, "")) for heading in ("Before", "After")), strict=True))
    return tuple((_read_side(each, "-"), _EXPECTED.sub("", _read_side(each, "+"))) for each in _split_blocks(sections["Example"]))


def _read_side(diff: str, sign: str) -> str:
    return "".join(f"{line[1:]}\n" for line in diff.splitlines() if line[0] in (sign, " "))


def format_diff(before: str, after: str) -> str:
    """The lines of two texts behind `-`, `+` and a space; a mark of an expected finding makes no difference."""
    from difflib import SequenceMatcher

    old, new = before.splitlines(), after.splitlines()
    lines = []
    for kind, start, end, first, last in SequenceMatcher(None, [_EXPECTED.sub("", line) for line in old], new, False).get_opcodes():
        lines += [f"{' ' if kind == 'equal' else '-'}{line}" for line in old[start:end]]
        lines += [f"+{line}" for line in new[first:last] if kind != "equal"]
    return "".join(f"{line}\n" for line in lines)


def join_lines(text: str) -> str:
    """A text on one line."""
    return " ".join(text.split())


def _dedent(block: str) -> str:
    lines = block.split("\n")
    indent = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    return "\n".join(line[indent:] for line in lines) + "\n"
