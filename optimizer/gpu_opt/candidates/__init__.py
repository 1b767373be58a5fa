"""Workloads × offers = candidates or rejections: who could run where, and why the others can't."""
