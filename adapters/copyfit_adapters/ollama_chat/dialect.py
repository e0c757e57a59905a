"""The words of the protocol that more than one of its modules needs."""

PROTOCOL = "ollama-chat"
"""The name under which `extra` and `ThinkingPart.provider` hold what belongs to this protocol."""

SWITCHES = ("truncate", "shift")
"""Request fields that let the server cut an input that is too long; false has it answer with an error instead.

With ``truncate`` it leaves out the oldest messages, with ``shift`` it cuts tokens out of the middle of the prompt.
Both are true where a request does not say otherwise (Ollama 0.33, server/routes.go and llm/llama_server.go), so
one alone is not enough. Servers that are too old to know them ignore them.
"""
