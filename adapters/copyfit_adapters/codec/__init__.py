"""What the codecs of all wire protocols are made of: requests, reading and writing JSON, declared losses."""
