"""The command: python -m tools.prose_numbers."""

import sys

from tools.prose_numbers.check import main

sys.exit(main())
