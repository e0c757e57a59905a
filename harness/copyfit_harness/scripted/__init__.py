"""Stand-ins that answer from a script: a provider at the port, and a chat completions server on the wire."""
