"""`python -m generator` is `gen`."""

from generator.cli import main

if __name__ == "__main__":
    main()
