"""Tell an input that is too long from every other error: lift the evidence first, judge it second, by a table."""
