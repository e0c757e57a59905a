"""How the servers of each wire protocol say an answer or refuse an input for its length, as the bytes of it."""
