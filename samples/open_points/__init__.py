"""What the study pages leave open for lack of a GPU, measured in one short turn."""
