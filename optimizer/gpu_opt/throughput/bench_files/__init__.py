"""Result files of serving benchmarks as rows of measured points, in the columns of `gpu-opt accuracy`.

Formats as their tools wrote them in 2026: vLLM `bench serve`, SGLang `bench_serving`, GuideLLM 0.3–0.7, inference-perf,
GenAI-Perf, and AIPerf up to export schema 1.5.
"""

from gpu_opt.throughput.bench_files.reader import FORMATS, read_bench_file, sniff
from gpu_opt.throughput.bench_files.rows import COLUMNS, Row

__all__ = ["COLUMNS", "FORMATS", "Row", "read_bench_file", "sniff"]
