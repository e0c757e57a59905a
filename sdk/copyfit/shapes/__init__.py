"""The nouns of copyfit: frozen, typed, with no behaviour beyond their own invariants."""
