"""The command: python -m tools.book."""

import sys

from tools.book.notebook import main

sys.exit(main())
