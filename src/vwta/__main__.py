"""`python -m vwta`: the command `vwta`."""

import sys

from vwta.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
