"""What happened in a session: an append-only file of events, a line of JSON each."""
