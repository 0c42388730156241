"""`python -m birthmark` is the command line."""

from birthmark.cli import main

main()
