"""What was brought to a directory: a file in it that names each file with its mode and digest."""

import hashlib
import json
import os

FILE = ".nearfar-pack.json"


def sha256(data):
    """The digest of some bytes."""
    return hashlib.sha256(data).hexdigest()


def on_disk(path):
    """What is there: (mode, digest); a link's target in place of a digest; None where nothing is."""
    if os.path.islink(path):
        return ["link", os.readlink(path)]
    try:
        with open(path, "rb") as stream:
            return ["0755" if os.fstat(stream.fileno()).st_mode & 0o100 else "0644", sha256(stream.read())]
    except OSError:
        return None


def read(dest):
    """What the archive before left: its digest and files; empty where there was none."""
    try:
        with open(os.path.join(dest, FILE)) as stream:
            found = json.load(stream)
        return str(found["digest"]), dict(found["files"])
    except (OSError, ValueError, KeyError, TypeError):
        return "", {}


def put(path, entry, data):
    """Write a file beside its place and rename it there."""
    folder = os.path.dirname(path)
    if not os.path.isdir(folder):
        os.makedirs(folder, 0o755)
    beside = os.path.join(folder, f".{os.path.basename(path)}.nearfar")
    try:
        if entry[0] == "link":
            os.symlink(entry[1], beside)
        else:
            with open(beside, "wb") as stream:
                stream.write(data)
            os.chmod(beside, int(entry[0], 8))
        os.rename(beside, path)
    except OSError:
        if os.path.lexists(beside):
            os.unlink(beside)
        raise


def write(dest, digest, files):
    """Note what was brought: ``digest`` of the archive (empty where it was none), and each file's entry as ``on_disk`` has it."""
    text = json.dumps({"digest": digest, "files": files}, indent=0, sort_keys=True)
    put(os.path.join(dest, FILE), ["0644"], text.encode("utf-8"))
