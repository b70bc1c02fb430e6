"""The rules, a module for each group; `skilleval.lint.registry` finds them here."""
