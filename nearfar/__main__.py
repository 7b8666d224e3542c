"""``python -m nearfar``."""

import sys

from nearfar.cli import main

sys.exit(main())
