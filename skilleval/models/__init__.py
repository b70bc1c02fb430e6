"""The models that answer, and what is known about them."""
