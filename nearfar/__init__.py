"""nearfar: is this multi-GPU node wired as it should be, and is every path through it as fast as it should be?"""

__version__ = "0.1.0"
