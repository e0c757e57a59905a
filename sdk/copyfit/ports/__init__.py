"""The places where others plug in: Protocols without bodies."""
