#!/usr/bin/python
"""``nearfar slurm install`` as an Ansible module: its own account of what changes is what Ansible is told."""

DOCUMENTATION = r"""
module: slurm_install
short_description: Run nearfar slurm install, and tell what it changed
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

RETURN = r"""
left_to_do:
  description: What a person has to do yet, a sentence each.
  returned: success
  type: list
  elements: str
kept:
  description: Files that were left as they are, because somebody has edited them or they were there before.
  returned: success
  type: list
  elements: str
"""

import json  # noqa: E402

from ansible.module_utils.basic import AnsibleModule  # noqa: E402


def main():
    """Run it, and hand on what it says."""
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
        told = json.loads(out) if rc == 0 else None
    except ValueError:
        told = None
    if told is None or told.get("schema") != "nearfar-install-changes/1":
        module.fail_json(msg=(err.strip() or out.strip() or f"exit code {rc}").split("\n")[-1], command=command)
    done = [file for file in told["files"] if not file["kept"]]
    lines = [line for file in done for line in file["diff"]] + [f"{path}: made" for path in told["directories"]]
    module.exit_json(
        changed=told["changed"],
        left_to_do=told["left_to_do"],
        kept=[file["path"] for file in told["files"] if file["kept"]],
        diff={"prepared": "".join(f"{line}\n" for line in lines)},
    )


if __name__ == "__main__":
    main()
