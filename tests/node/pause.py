"""Makes the image of the container that holds a pod's namespaces, as no registry is asked."""

import subprocess
from pathlib import Path
from typing import Final

from tests.node.programs import PAUSE

_SOURCE: Final = "#include <unistd.h>\nint main(void) { for (;;) pause(); }\n"


def make_pause(home: Path) -> Path:
    """Compiles a program that does nothing and returns an archive that containerd imports."""
    root = home / "pause"
    root.mkdir()
    subprocess.run(["gcc", "-x", "c", "-static", "-O1", "-o", root / "pause", "-"], input=_SOURCE, text=True, check=True)
    (root / "Containerfile").write_text('FROM scratch\nCOPY pause /\nENTRYPOINT ["/pause"]\n')
    store = ["--root", str(home / "buildah"), "--runroot", str(home / "buildah-run"), "--storage-driver", "vfs"]
    words = ["--isolation", "chroot", "--tag", f"docker-archive:{home / 'pause.tar'}:{PAUSE}", str(root)]
    subprocess.run(["buildah", *store, "build", "--quiet", *words], check=True, capture_output=True)
    return home / "pause.tar"
