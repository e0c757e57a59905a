"""The chat completions protocol of Mistral, which looks like OpenAI's and is another."""
