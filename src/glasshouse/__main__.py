"""``python -m glasshouse``: the command line."""

from glasshouse.show.cli import main

if __name__ == "__main__":
    main()
