"""Record what an agent and its provider said, replay it to the byte, and prove what the model was sent."""
