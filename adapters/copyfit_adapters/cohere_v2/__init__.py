"""The chat protocol of Cohere's API v2."""
