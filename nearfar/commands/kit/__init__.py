"""``nearfar kit`` and ``nearfar import``: making a kit, and taking in the file that it leaves, or other tools' output.

Needs: base, report, kit, foreign.
"""
