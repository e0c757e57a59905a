"""Stand-ins that answer from a script: a provider at the port, and servers of every protocol on the wire.

What a script is made of stands in three rooms: `Say` in `chat_replies`, `TooLong` and `FillsUp` in `voices.voice`,
and `VOICES`, the protocols that a `server.ScriptedServer` can speak, in `voices.known`.
"""
