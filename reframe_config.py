"""ReFrame's configuration for this checkout and site: ``reframe -C reframe_config.py -c checks -r``.

One ReFrame system for each file of ``site/systems/``; ``local`` where no file claims the host.
docs/describe.md says how to describe a system.
"""

import os
import sys
import time
from pathlib import Path

_HERE = Path(__file__).resolve().parent
if str(_HERE) not in sys.path:
    sys.path.insert(0, str(_HERE))

import reframe  # noqa: E402

from nearfar.base import NearfarError, places, user_name  # noqa: E402
from nearfar.site import reframe_settings, systems  # noqa: E402

try:
    reframe_settings.refuse_other_reframe(reframe.VERSION)
    reframe_settings.refuse_unknown_names(sys.argv[1:])
    _site = systems.site()
    # `nearfar validate` names the run; by hand it is named here, and made when the first case writes into it.
    _named = places.reports_directory() / _site.here / time.strftime("%Y%m%dT%H%M%S", time.gmtime())
    os.environ.setdefault("NEARFAR_RUN_DIR", str(_named))
    _configuration = reframe_settings.configuration(_site, Path(os.environ["NEARFAR_RUN_DIR"]))
except NearfarError as error:
    print(f"nearfar: {error}", file=sys.stderr)
    sys.exit(error.exit_code)

# A user id without a name (a container's, a directory service that is down): ReFrame 4.10 adds the name to a string, and would fail.
os.environ.setdefault("LOGNAME", user_name(os.geteuid()))

site_configuration = _configuration
