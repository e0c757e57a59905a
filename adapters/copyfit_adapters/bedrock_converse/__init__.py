"""The Converse protocol of Amazon Bedrock: one form for the models of every maker there."""
