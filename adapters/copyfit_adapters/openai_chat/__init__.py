"""The chat completions protocol of OpenAI, and of every server that speaks it."""
