"""Telling what is wrong with a skill, for each reader of the contract."""
