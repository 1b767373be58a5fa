"""From a calendar to the answer: cost lines, allocations, commitments, the runner-up, and what verify needs."""
