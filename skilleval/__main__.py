"""``python -m skilleval`` is the command ``skilleval``."""

from skilleval.cli import main

if __name__ == "__main__":
    main()
