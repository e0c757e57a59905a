"""Whole agent runs as data, and what runs them."""
