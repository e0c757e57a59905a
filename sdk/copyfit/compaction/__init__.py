"""Make a history smaller: old tool bodies first, by rule; then old closed steps, by a summarizer's checkpoint."""
