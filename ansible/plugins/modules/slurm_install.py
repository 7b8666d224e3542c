#!/usr/bin/python
"""``nearfar slurm install`` as an Ansible module: what that prints is what Ansible reports."""

DOCUMENTATION = r"""
module: slurm_install
short_description: Run nearfar slurm install, and report what it changed
description:
  - Runs C(nearfar slurm install) with C(--json), and with C(--apply) unless in check mode. No list of files of its own.
version_added: "0.1.0"
author: The nearfar authors
attributes:
  check_mode:
    description: The command shows what it would write, and writes nothing.
    support: full
  diff_mode:
    description: The command's own diff.
    support: full
options:
  nearfar:
    description: The command C(nearfar) of this host.
    type: path
    required: true
  options:
    description: Options of C(nearfar slurm install), each one word as in C(--results=/shared/nearfar).
    type: list
    elements: str
    required: true
"""

EXAMPLES = r"""
- name: Install the health check
  nearfar.validation.slurm_install:
    nearfar: /opt/nearfar/.venv/bin/nearfar
    options: [--partition=gpu, --results=/shared/nearfar, --what, health]
"""

RETURN = r""" # """

import json  # noqa: E402

from ansible.module_utils.basic import AnsibleModule  # noqa: E402


def main():
    """Run it, and hand on what it prints."""
    module = AnsibleModule(
        argument_spec={
            "nearfar": {"type": "path", "required": True},
            "options": {"type": "list", "elements": "str", "required": True},
        },
        supports_check_mode=True,
    )
    command = [module.params["nearfar"], "slurm", "install"] + module.params["options"] + ["--json"]
    rc, out, err = module.run_command(command + ([] if module.check_mode else ["--apply"]))
    try:
        document = json.loads(out) if rc == 0 else None
    except ValueError:
        document = None
    if document is None or document.get("schema") != "nearfar-install-changes/3":
        module.fail_json(msg=(err.strip() or out.strip() or f"exit code {rc}").split("\n")[-1], command=command)
    module.exit_json(
        changed=document["changed"],
        diff={"prepared": "".join(f"{line}\n" for file in document["files"] for line in file["diff"])},
    )


if __name__ == "__main__":
    main()
