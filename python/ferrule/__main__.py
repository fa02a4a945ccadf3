"""`python -m ferrule`: the command line."""

import sys

from ferrule.cli import main

if __name__ == "__main__":
    sys.exit(main())
