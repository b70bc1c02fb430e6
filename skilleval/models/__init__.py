"""The models that answer: for now, what is known about them."""
