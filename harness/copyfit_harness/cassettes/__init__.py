"""Cassettes: recorded exchanges on disk, how a request finds its recording, and what to say when it does not."""
