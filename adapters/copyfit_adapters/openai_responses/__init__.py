"""The Responses protocol of OpenAI, and of every server that speaks it."""
