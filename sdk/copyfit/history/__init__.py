"""The canonical session history: kept on disk, free of abandoned calls, and compacted by message count."""
