"""HTTP exchanges as bytes: their shape, their canonical form, their differences and their redaction.

Nothing here knows an HTTP library: a request and a response are text, header pairs and bytes.
"""
