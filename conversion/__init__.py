"""Conversion between two versions: lenses, one declaration per kind, the remainder codec, and the generic engine."""

from importlib.machinery import ExtensionFileLoader
from importlib.util import find_spec


def is_compiled() -> bool:
    """Whether these modules are compiled, as in a wheel for one platform, or interpreted from their sources."""
    spec = find_spec(f"{__name__}.engine")
    return spec is not None and isinstance(spec.loader, ExtensionFileLoader)
