#!/usr/bin/python
"""The nearfar checkout of a host, from an archive that lies on that host."""

DOCUMENTATION = r"""
module: checkout
short_description: Unpack an archive of nearfar's checkout, and know whether what is there is that archive
description:
  - Writes what differs, removes what an earlier archive had and this one lacks, and leaves alone what belongs to no archive
    (C(build/), C(.venv/), C(reports/)).
  - Without O(archive) nothing is written; RV(current) says whether the checkout is as the archive with that digest left it.
version_added: "0.1.0"
author: The nearfar authors
attributes:
  check_mode:
    description: Says what it would write.
    support: full
  diff_mode:
    description: Names the files.
    support: full
options:
  dest:
    description: The checkout's directory, an absolute path.
    type: path
    required: true
  digest:
    description: SHA-256 of the archive.
    type: str
    required: true
  archive:
    description: A tar archive on this host, as C(git archive) makes it; one directory that holds all is left out.
    type: path
  space:
    description: MB that have to be free where O(dest) is, beside the archive's own files.
    type: int
    default: 0
"""

EXAMPLES = r"""
- name: Unpack nearfar
  nearfar.validation.checkout:
    dest: /opt/nearfar
    digest: "{{ digest }}"
    archive: /tmp/nearfar.tar.gz
"""

RETURN = r"""
current:
  description: Whether the checkout was as the archive leaves it before anything was done.
  returned: success
  type: bool
written:
  description: Files that were written, or would be.
  returned: success
  type: list
  elements: str
removed:
  description: Files that were removed, or would be.
  returned: success
  type: list
  elements: str
"""

import errno  # noqa: E402
import os  # noqa: E402
import tarfile  # noqa: E402

from ansible.module_utils.basic import AnsibleModule  # noqa: E402
from ansible_collections.nearfar.validation.plugins.module_utils import marks  # noqa: E402


def contents(archive):
    """The archive's files by name: ([mode, digest or target], bytes). Raises ValueError for what leads out of the directory."""
    found = {}
    with tarfile.open(archive) as tar:
        for member in tar:
            parts = member.name.split("/")
            if member.name.startswith("/") or ".." in parts:
                raise ValueError(f"{member.name}: leads out of the checkout")
            name = "/".join(part for part in parts if part not in ("", "."))
            if member.issym():
                found[name] = (["link", member.linkname], b"")
            elif member.isfile():
                data = tar.extractfile(member).read()
                found[name] = (["0755" if member.mode & 0o100 else "0644", marks.sha256(data)], data)
            elif not member.isdir():
                raise ValueError(f"{member.name}: neither file, directory nor link")
    tops = {name.split("/")[0] for name in found}
    if len(tops) == 1 and "validate" not in found:
        found = {name.split("/", 1)[-1]: entry for name, entry in found.items()}
    for name, entry in ((name, entry) for name, (entry, _data) in found.items() if entry[0] == "link"):
        target = os.path.normpath(os.path.join(os.path.dirname(name), entry[1]))
        if target.startswith("/") or target.split("/")[0] == "..":
            raise ValueError(f"{name}: a link that leads out of the checkout")
    if "validate" not in found or "pyproject.toml" not in found:
        raise ValueError("not an archive of nearfar's checkout: it has no ./validate")
    return found


def free(path):
    """Free bytes where a directory is, or will be."""
    while not os.path.isdir(path):
        path = os.path.dirname(path)
    state = os.statvfs(path)
    return state.f_bavail * state.f_frsize


def main():
    """Look, and write what differs."""
    module = AnsibleModule(
        argument_spec={
            "dest": {"type": "path", "required": True},
            "digest": {"type": "str", "required": True},
            "archive": {"type": "path"},
            "space": {"type": "int", "default": 0},
        },
        supports_check_mode=True,
    )
    dest, digest = module.params["dest"], module.params["digest"]
    if not dest.startswith("/") or dest.rstrip("/").count("/") < 1 or os.path.normpath(dest) == "/":
        module.fail_json(msg=f"{dest}: not a directory for a checkout; an absolute path such as /opt/nearfar")
    known, files = marks.read(dest)
    current = known == digest and all(marks.on_disk(os.path.join(dest, name)) == entry for name, entry in files.items())
    if module.params["archive"] is None:
        module.exit_json(changed=False, current=current, written=[], removed=[])
    try:
        wanted = contents(module.params["archive"])
    except (OSError, EOFError, tarfile.TarError, ValueError) as error:
        module.fail_json(msg=f"the archive cannot be used: {error}")
    if os.path.exists(os.path.join(dest, ".git")):
        module.fail_json(
            msg=f"{dest}: a git clone, which is its owner's: update it there, or set nearfar_checkout to another place"
        )
    written = sorted(
        name for name, (entry, dummy) in wanted.items() if marks.on_disk(os.path.join(dest, name)) != entry
    )
    removed = sorted(name for name in files if name not in wanted and os.path.lexists(os.path.join(dest, name)))
    changed = bool(written or removed) or known != digest
    diff = {
        "before": "".join(
            f"{name}\n" for name in sorted(removed + [n for n in written if os.path.lexists(os.path.join(dest, n))])
        ),
        "after": "".join(f"{name}\n" for name in written),
        "before_header": "{} (archive {})".format(dest, known[:12] or "none"),
        "after_header": f"{dest} (archive {digest[:12]})",
    }
    needed = sum(len(wanted[name][1]) for name in written) + (module.params["space"] << 20 if changed else 0)
    if needed > free(dest):
        module.fail_json(
            msg=f"{dest}: {free(dest) >> 20} MB free, {(needed >> 20) + 1} MB needed: make room, or set nearfar_checkout "
            "to another place"
        )
    if changed and not module.check_mode:
        try:
            for name in removed:
                os.unlink(os.path.join(dest, name))
            for name in written:
                marks.put(os.path.join(dest, name), *wanted[name])
            entries = {name: entry for name, (entry, dummy) in wanted.items()}
            marks.write(dest, digest, entries)
        except OSError as error:
            why = "the disk is full: make room" if error.errno == errno.ENOSPC else os.strerror(error.errno)
            module.fail_json(msg=f"{error.filename or dest}: cannot be written: {why}")
    module.exit_json(changed=changed, current=current, written=written, removed=removed, diff=diff)


if __name__ == "__main__":
    main()
