"""The node against the site's file: what is found is compared item by item."""

import reframe  # noqa: F401  (ReFrame looks into files that import it)

from nearfar.site import topology_diff

from .base import asks, node_check


@asks
class topology_check(node_check):
    """Drift, item by item; each GPU's link while it works."""

    def findings(self, document):
        if self.partition.modelled:
            return []
        return topology_diff.findings(
            self.system, self.partition, self.node_type, self.expected, self.observed, document, self.acceptance
        )
