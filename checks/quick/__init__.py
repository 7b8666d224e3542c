"""The check of `./validate --quick`. ReFrame searches this directory only if it is named: `-c checks/quick`."""
