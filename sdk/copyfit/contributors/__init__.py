"""What goes into a turn besides its history: the registry, the envelopes, and the built-in contributors."""
