"""What a model is told about a catalog of skills."""
