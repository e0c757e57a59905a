"""The messages protocol of Anthropic, and of every server that speaks it."""
