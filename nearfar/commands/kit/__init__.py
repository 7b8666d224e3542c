"""``nearfar kit`` and ``nearfar import``: making a kit, and taking in the file that it leaves.

Needs: base, report, kit.
"""
