"""Which pods an editor's text would restart against a revision of Git, in which files/revision.py runs nothing that a stranger names."""

from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

from ...console.exits import UsageError
from ...files.revision import GitTrees, find_commit, find_root
from ...yaml.load import Position
from ..render.pods import find_restarts
from ..render.run import DEFAULT_NAMESPACE, RenderedChild, choose_operator, render_text
from ..render.run import RenderRequest as Rendering
from .answers import CheckContext, is_ours

AGAINST: Final = "--against"


class RestartLens(NamedTuple):
    """Restarts that a change causes in one object, as a code lens."""

    position: Position
    title: str
    reasons: list[str]


def find_lenses(name: str, text: str, context: CheckContext) -> list[RestartLens]:
    """The objects whose pods restart; none without Git, the revision or the file in it, and none for objects that can't be rendered."""
    text_before = _text_before(name, context.against) if is_ours(text) else None
    if text_before is None:
        return []
    settings = context.settings()
    operator = choose_operator(settings.facts, None)[0]._replace(restarted=True)
    rendering = Rendering(settings.facts, operator, DEFAULT_NAMESPACE)
    old = {obj.manifest.identity: obj for obj in render_text(name, text_before, rendering).objects}
    lenses = []
    for obj in render_text(name, text, rendering).objects:
        was = old.get(obj.manifest.identity)
        if was is None or was.problems or obj.problems:
            continue
        before, after = ([RenderedChild("", child) for child in side.children] for side in (was, obj))
        restarts = [each for each in find_restarts(before, after) if each.what == "restart"]
        pods = sum(each.pods for each in restarts)
        if pods:
            title = f"restarts {pods} pod{'s' * (pods != 1)} against {context.against}"
            lenses.append(RestartLens(obj.manifest.document.position(()), title, [reason for each in restarts for reason in each.reasons]))
    return lenses


def _text_before(name: str, revision: str) -> str | None:
    """The text of a file in a revision; None where there is none, whatever the reason."""
    try:
        root = find_root(str(Path(name).resolve().parent)) if revision else None
        return None if root is None else _text_at(find_commit(root, revision, AGAINST), name)
    except (UsageError, OSError, ValueError):  # a name that no file can have
        return None


@lru_cache(maxsize=32)  # editors ask at every change
def _text_at(commit: str, name: str) -> str | None:
    tree, path = GitTrees(commit, AGAINST).locate(name)
    text = dict(tree.texts([path])).get(path)
    return text if isinstance(text, str) else None
