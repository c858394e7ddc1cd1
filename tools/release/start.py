"""Starts `dynamo-webhooks.pyz`: unpacks the application once for this interpreter, into a folder of the user's own, and runs it.

The folder is in $XDG_CACHE_HOME or ~/.cache, or if neither can be written in a temporary one that ends with the process. Its name holds
the digest of the application, its mode is 0700. Unpacking costs about 15 MB and a second, once. It must parse on Python 3.6.
"""

import importlib.machinery
import os
import stat
import sys
import zipfile
import zipimport

WANTED = "CPython 3.11 to 3.14 on Linux with glibc (x86_64 or aarch64)"
INSTALL = "install it with pip instead"


def main() -> int:
    """Runs the command; 2 where this interpreter is not one of those that it holds modules for."""
    archive = os.path.abspath(sys.argv[0])
    if sys.version_info < (3, 11):
        return refuse(f"Python must be 3.11 or newer, got {sys.version.split()[0]}; start it with a newer one, such as python3.13")
    suffix = importlib.machinery.EXTENSION_SUFFIXES[0]
    digest = zipimport.zipimporter(archive).get_data("digest").decode()
    try:
        folder = unpack(archive, suffix, "pyz-" + digest + "-" + suffix.split(".")[1])
    except OSError as error:
        return refuse(f"a cache or temporary folder must be writable, got {error}; set XDG_CACHE_HOME or TMPDIR")
    if not folder:
        return refuse(f"the interpreter must be {WANTED}, got one whose modules are named *{suffix}; {INSTALL}")
    sys.path[:] = [folder] + [path for path in sys.path if os.path.abspath(path) != archive]
    from dynamo_webhooks.cli.main import main as command

    return command()


def refuse(why: str) -> int:
    """Says why nothing runs."""
    sys.stderr.write(f"dynamo-webhooks.pyz: {why}\n")
    return 2


def unpack(archive: str, suffix: str, name: str) -> str:
    """The folder of the application, made where it is not there; empty where it has no modules of that suffix. Raises: OSError."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    target = os.path.join(cache, "dynamo-webhooks", name)
    if is_ours(target):
        return target
    import zipfile

    with zipfile.ZipFile(archive) as outer, outer.open("application.zip") as opened, zipfile.ZipFile(opened) as inner:
        names = [each for each in inner.namelist() if not each.endswith(".so") or each.endswith(suffix)]
        return unpack_to_cache(inner, names, target) if any(each.endswith(suffix) for each in names) else ""


def unpack_to_cache(inner: "zipfile.ZipFile", names: "list[str]", target: str) -> str:
    """Unpacks into the cache, or into a temporary folder where the cache can't be written or holds a stranger's folder."""
    import tempfile

    try:
        os.makedirs(os.path.dirname(target), mode=0o700, exist_ok=True)
        fresh = tempfile.mkdtemp(dir=os.path.dirname(target))  # its mode is 0700
    except OSError:
        return extract(inner, names, make_temporary_folder())
    try:
        os.rename(extract(inner, names, fresh), target)
    except OSError:  # another process was faster, the path is taken, or the disk is full
        import shutil

        shutil.rmtree(fresh, ignore_errors=True)
        return target if is_ours(target) else extract(inner, names, make_temporary_folder())
    return target


def is_ours(target: str) -> bool:
    """Whether this folder belongs to this user and is closed to all others."""
    try:
        about = os.lstat(target)
    except OSError:
        return False
    return stat.S_ISDIR(about.st_mode) and about.st_uid == os.geteuid() and not about.st_mode & 0o077


def make_temporary_folder() -> str:
    """A temporary folder that is removed when the process ends."""
    import atexit
    import shutil
    import tempfile

    folder = tempfile.mkdtemp(prefix="dynamo-webhooks-")
    atexit.register(shutil.rmtree, folder, True)
    return folder


def extract(inner: "zipfile.ZipFile", names: "list[str]", folder: str) -> str:
    """The folder, after the named files were written into it. Raises: OSError."""
    inner.extractall(folder, names)
    return folder


if __name__ == "__main__":
    sys.exit(main())
