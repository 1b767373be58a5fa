"""Load on a service: request traces, sampled arrivals, and an event simulation of continuous batching."""
