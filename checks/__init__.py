"""The checks, one file each, called as the check is: those of every run here, the others in ``quick`` and ``long``.

A class names its question (``nearfar/question``), which has what it asks; ``base`` has what all checks share.
"""
