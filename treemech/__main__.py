"""`python -m treemech`: the command line."""

from .command import main

raise SystemExit(main())
