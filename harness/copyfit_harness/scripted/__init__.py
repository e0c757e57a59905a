"""Stand-ins that answer from a script: a provider at the port, and servers of every protocol on the wire."""
