"""What a turn leaves behind for people: trace documents, the private files they go to, and their differences."""
