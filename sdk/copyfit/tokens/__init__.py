"""How many tokens things cost: a bound without any vocabulary, and the ledger that counts each thing once."""
