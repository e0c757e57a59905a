"""What a run knows besides its transcript: durable channels, skills read, the goal and the plan."""
