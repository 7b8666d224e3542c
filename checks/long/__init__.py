"""Checks that take minutes, run by name. ReFrame searches this directory only if it is named: `-c checks/long`."""
