#!/usr/bin/python
"""What the role brought to a directory of a host: noted, and taken away again."""

DOCUMENTATION = r"""
module: brought
short_description: Note files that were brought to a directory, or take away what was brought
description:
  - Present notes files in C(.nearfar-pack.json), beside those that are noted there.
  - Absent removes what is noted and still is as it was brought, what O(made) names, and directories that are empty then.
    Everything else stays, and RV(left) names it.
version_added: "0.1.0"
author: The nearfar authors
attributes:
  check_mode:
    description: Says what it would do.
    support: full
  diff_mode:
    description: Names the files that go.
    support: full
options:
  dest:
    description: The directory.
    type: path
    required: true
  state:
    description: Whether files are noted or taken away.
    type: str
    choices: [present, absent]
    required: true
  files:
    description: The files to note, by their paths.
    type: list
    elements: path
    default: []
  made:
    description: What was made there of what was brought, by the path below O(dest).
    type: list
    elements: str
    default: []
"""

EXAMPLES = r"""
- name: Take away the checkout
  nearfar.validation.brought:
    dest: /opt/nearfar
    state: absent
    made: [.venv, build]
"""

RETURN = r"""
left:
  description: What stays in the directory, at most two levels deep.
  returned: success
  type: list
  elements: str
removed:
  description: Files that went, or would.
  returned: success
  type: list
  elements: str
"""

import os  # noqa: E402
import shutil  # noqa: E402

from ansible.module_utils.basic import AnsibleModule  # noqa: E402
from ansible_collections.nearfar.validation.plugins.module_utils import marks  # noqa: E402


def remove(path):
    """Take away a file, a link or a directory with all that is in it."""
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.unlink(path)


def left_below(dest):
    """Remove empty directories and compiled Python; what stays, as at most two names of a path."""
    for folder, _inner, _files in os.walk(dest, topdown=False):
        if os.path.basename(folder) == "__pycache__":
            remove(folder)
        elif not os.listdir(folder):
            os.rmdir(folder)
    found = set()
    for folder, inner, files in os.walk(dest):
        for name in files + [name for name in inner if os.path.islink(os.path.join(folder, name))]:
            found.add("/".join(os.path.relpath(os.path.join(folder, name), dest).split("/")[:2]))
    return sorted(found)


def main():
    """Note, or take away."""
    module = AnsibleModule(
        argument_spec={
            "dest": {"type": "path", "required": True},
            "state": {"type": "str", "choices": ["present", "absent"], "required": True},
            "files": {"type": "list", "elements": "path", "default": []},
            "made": {"type": "list", "elements": "str", "default": []},
        },
        supports_check_mode=True,
    )
    dest, check = module.params["dest"], module.check_mode
    digest, files = marks.read(dest)
    try:
        if module.params["state"] == "present":
            fresh = {os.path.relpath(path, dest): marks.on_disk(path) for path in module.params["files"]}
            wanted = {**files, **{name: entry for name, entry in fresh.items() if entry is not None}}
            if wanted != files and not check:
                marks.write(dest, digest, wanted)
            module.exit_json(changed=wanted != files, left=[], removed=[])
        if not files:
            if any(os.path.lexists(os.path.join(dest, name)) for name in module.params["made"]):
                module.fail_json(msg=f"{dest}: the role has not brought this; left alone")
            module.exit_json(changed=False, left=[], removed=[])
        removed = sorted(name for name, entry in files.items() if marks.on_disk(os.path.join(dest, name)) == entry)
        if not check:
            for name in removed + module.params["made"] + [marks.FILE]:
                remove(os.path.join(dest, name))
        left = [] if check else left_below(dest)
    except OSError as error:
        module.fail_json(msg=f"{error.filename or dest}: {os.strerror(error.errno)}")
    gone = {"before": "".join(f"{name}\n" for name in removed), "after": ""}
    module.exit_json(changed=True, left=left, removed=removed, diff=gone)


if __name__ == "__main__":
    main()
