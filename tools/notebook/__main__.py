"""The command: python -m tools.notebook."""

import sys

from tools.notebook.build import main

sys.exit(main())
