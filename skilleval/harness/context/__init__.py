"""Keeping a conversation within the context window, by the cheapest means that will do."""
