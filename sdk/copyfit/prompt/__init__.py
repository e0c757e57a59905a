"""From collected contributions to one system prompt: the admission budget and the renderer."""
