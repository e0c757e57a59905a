"""The proof that the provider received exactly what was assembled."""
