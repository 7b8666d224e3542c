"""Questions that take long: asked by name alone."""
