"""Makes the image of the container that holds a pod's namespaces, as no registry is asked."""

import subprocess
from pathlib import Path
from typing import Final

from tests.node.image import build_image
from tests.node.programs import PAUSE

_SOURCE: Final = "#include <unistd.h>\nint main(void) { for (;;) pause(); }\n"


def make_pause(home: Path) -> Path:
    """Compiles a program that does nothing and returns an archive that containerd imports."""
    root = home / "pause"
    root.mkdir()
    subprocess.run(["gcc", "-x", "c", "-static", "-O1", "-o", root / "pause", "-"], input=_SOURCE, text=True, check=True)
    (root / "Containerfile").write_text('FROM scratch\nCOPY pause /\nENTRYPOINT ["/pause"]\n')
    build_image(root, f"docker-archive:{home / 'pause.tar'}:{PAUSE}")
    return home / "pause.tar"
