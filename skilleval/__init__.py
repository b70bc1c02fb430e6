"""skilleval: lint, evaluate, compare and publish Agent Skills."""

__version__ = "0.1.0"
