"""What stands between a client and the network: the recorder, a change of address, and a gate on the sockets.

Transports here are plain classes that serve httpx and httpx2 alike, sync and async; neither library is imported.
"""
