"""Running an agent: tools and their scheduling, one turn with its one recovery, the loop over turns."""
