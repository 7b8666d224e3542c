"""Parts of ``benchmarks/fleet_study.py``: fleets as arrays, and the rules of nearfar over them, each beside what it stands for.

Arrays are nodes × nights × columns (``columns``); figures are parts of what a healthy node of the type has.
"""
