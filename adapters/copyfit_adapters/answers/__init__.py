"""What reading an answer takes in every protocol: telling it from an error, following a stream to its end."""
