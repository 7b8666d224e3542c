"""The node against the site's file: what is found is compared item by item."""

import reframe as rfm

from nearfar.site import topology_diff

from .base import copy_check, named


@rfm.simple_test
class topology_check(copy_check):
    """Drift, item by item; each GPU's link while it works."""

    question = named("topology_check")

    def findings(self, document):
        if self.partition.modelled:
            return []
        return topology_diff.findings(
            self.system, self.partition, self.node_type, self.expected, self.observed, document, self.acceptance
        )
