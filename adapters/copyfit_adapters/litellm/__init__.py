"""The long tail: every provider that the litellm library knows, sent to through that library."""
