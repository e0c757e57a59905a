"""Tool outputs that are too long to show: bounded for the model, kept whole in a store, read back in pages."""
