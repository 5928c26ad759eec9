"""`python -m tracelens` is the command tracelens."""

from tracelens.cli.app import main

if __name__ == "__main__":
    main()
