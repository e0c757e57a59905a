"""The chat protocol of Ollama's own API."""
