"""The formats of evaluation files, a module for each; adding one touches nothing else."""
