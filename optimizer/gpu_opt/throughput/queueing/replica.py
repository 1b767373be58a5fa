"""One replica under continuous batching, from event to event rather than step by step.

Between an arrival and the next finish the batch is constant and every step is longer than the one before by the same
amount, so that many steps are one sum. Prompts are computed in chunks beside the running sequences.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from heapq import heappop, heappush

from gpu_opt.throughput.queueing.step_table import StepTable

_INFINITY = math.inf
_UNSET = -1.0
_KV_WATERMARK_FRACTION = 0.01  # vLLM keeps 1 % of its blocks free when it admits (BlockSpaceManager, watermark)


@dataclass(slots=True, kw_only=True)
class Jobs:
    """All requests of a simulation, by index; the last three lists are filled as they run.

    `new_tokens` are the input tokens that no cache holds, `steps` the decode steps after the first token.
    """

    arrival: list[float]
    context: list[int]
    new_tokens: list[int]
    steps: list[int]
    first_token: list[float]
    finish: list[float]
    finish_step: list[int]


@dataclass(slots=True, kw_only=True)
class Tally:
    """What a replica counted: gaps between tokens with how many tokens had each, and time integrals."""

    gap_seconds: list[float] = field(default_factory=list)
    gap_tokens: list[float] = field(default_factory=list)
    running_seconds: float = 0.0
    busy_seconds: float = 0.0
    max_queue: int = 0
    preemptions: int = 0


class Replica:
    """Runs the requests in `queue` (indices into `jobs`, in order of arrival) in time order.

    In a closed loop `next_users` holds requests, the next one last, that each come when another one finishes.
    """

    def __init__(self, table: StepTable, jobs: Jobs, tokens_per_step: float) -> None:
        self.table = table
        self.jobs = jobs
        self.tokens_per_step = tokens_per_step
        self.queue: list[int] = []
        self.tally = Tally()
        self.finished = 0
        self.clock = 0.0
        self.next_users: list[int] = []
        self._arrived = self._started = 0
        self._step = 0
        self._running = 0
        self._context = 0.0
        self._kv_used = 0.0
        self._by_finish: list[int] = []
        self._by_admission: list[int] = []
        self._preempted: list[int] = []
        self._partial = -1
        self._partial_left = 0

    @property
    def outstanding(self) -> int:
        """Requests that were given to this replica and have not finished."""
        return len(self.queue) - self.finished

    def run_until(self, until: float) -> None:
        """Advances to the first step boundary at or after `until`, or until nothing is left to do before it."""
        arrival, queue = self.jobs.arrival, self.queue
        while self.clock < until:
            arrived, count = self._arrived, len(queue)
            while arrived < count and arrival[queue[arrived]] <= self.clock:
                arrived += 1
            self._arrived = arrived
            waiting = arrived - self._started + len(self._preempted)
            if waiting > self.tally.max_queue:
                self.tally.max_queue = waiting
            if (self._partial >= 0 or waiting) and self._prefill_step(waiting):
                continue
            if self._running:
                coming = arrival[queue[arrived]] if arrived < count else _INFINITY
                if coming > until:
                    coming = until
                self._decode_steps(coming)
            elif arrived < count and arrival[queue[arrived]] < until:
                self.clock = arrival[queue[arrived]]
            else:
                return

    def _decode_steps(self, coming: float) -> None:
        """As many steps as the batch stays the same: to the next finish, arrival, or full cache."""
        table, running, growth = self.table, self._running, self.tokens_per_step * self._running
        heap, jobs, total = self._by_finish, self.jobs, len(self.jobs.arrival)
        step, index = divmod(heap[0], total)
        while jobs.finish_step[index] != step:
            heappop(heap)
            step, index = divmod(heap[0], total)
        steps = step - self._step
        if self._kv_used + growth * steps > table.kv_token_capacity:
            room = int((table.kv_token_capacity - self._kv_used) / growth)
            if room < 1 and running > 1:
                self._preempt()
                return
            steps = min(steps, max(room, 1))
        per_context = table.decode_per_context_seconds[running]
        first = table.decode_base_seconds[running] + per_context * self._context
        rise = per_context * growth
        seconds = steps * (first + rise * (steps - 1) / 2)
        wait = coming - self.clock
        if wait < seconds:
            steps = _steps_to_cover(wait, first, rise, steps)
            seconds = steps * (first + rise * (steps - 1) / 2)
        self.clock += seconds
        self._grow(steps, seconds, growth)

    def _prefill_step(self, waiting: int) -> bool:
        """One step that computes prompt tokens beside the running sequences; False when nothing can be admitted."""
        table, jobs, running = self.table, self.jobs, self._running
        growth = self.tokens_per_step * running
        budget = max(1, table.chunk_tokens - running)
        tokens = 0
        squares = 0.0
        done: list[int] = []
        index, left = self._partial, self._partial_left
        while True:
            if index < 0:
                if not waiting or running + len(done) >= table.max_num_seqs:
                    break
                index = self._preempted[-1] if self._preempted else self.queue[self._started]
                left = jobs.new_tokens[index]
                if self._kv_used + growth + left > self._admission_limit(running + len(done)):
                    index = -1
                    break
                if self._preempted:
                    self._preempted.pop()
                else:
                    self._started += 1
                waiting -= 1
                self._kv_used += left
            take = left if left < budget else budget
            start = jobs.context[index] - left
            squares += take * (2 * start + take)
            tokens += take
            budget -= take
            left -= take
            if left:
                break
            done.append(index)
            index = -1
            if not budget:
                break
        self._partial, self._partial_left = index, left
        if not tokens:
            return False
        self._mixed_step(tokens, squares, growth)
        for index in done:
            self._first_token(index)
        return True

    def _admission_limit(self, others: int) -> float:
        capacity = self.table.kv_token_capacity
        return capacity * (1 - _KV_WATERMARK_FRACTION) if others else capacity

    def _mixed_step(self, tokens: int, squares: float, growth: float) -> None:
        table = self.table
        while self._kv_used + growth > table.kv_token_capacity and self._running > 1:
            self._preempt()
            growth = self.tokens_per_step * self._running
        running = self._running
        if running:
            seconds = table.decode_base_seconds[running] + table.decode_per_context_seconds[running] * self._context
            seconds += table.added_seconds[tokens] + table.added_square_seconds * squares
        else:
            seconds = table.alone_seconds[tokens] + table.alone_square_seconds * squares
        self.clock += seconds
        self._grow(1, seconds, growth)

    def _grow(self, steps: int, seconds: float, growth: float) -> None:
        """Books `steps` steps of the running sequences, and finishes those that are done."""
        running, tally = self._running, self.tally
        tally.busy_seconds += seconds
        if not running:
            return
        tally.running_seconds += running * seconds
        tally.gap_seconds.append(seconds / (steps * self.tokens_per_step))
        tally.gap_tokens.append(steps * growth)
        self._step += steps
        self._context += growth * steps
        self._kv_used += growth * steps
        heap, jobs, total = self._by_finish, self.jobs, len(self.jobs.arrival)
        limit = (self._step + 1) * total
        while heap and heap[0] < limit:
            step, index = divmod(heappop(heap), total)
            if jobs.finish_step[index] == step:
                self._finish(index)
                self._running -= 1
                grown = jobs.steps[index] * self.tokens_per_step
                self._context -= jobs.context[index] + grown
                self._kv_used -= jobs.new_tokens[index] + grown

    def _first_token(self, index: int) -> None:
        jobs = self.jobs
        if jobs.first_token[index] == _UNSET:
            jobs.first_token[index] = self.clock
        steps = jobs.steps[index]
        if steps <= 0:
            self._finish(index)
            self._kv_used -= jobs.new_tokens[index]
            return
        finish_step = self._step + steps
        jobs.finish_step[index] = finish_step
        heappush(self._by_finish, finish_step * len(jobs.arrival) + index)
        self._by_admission.append(index)
        self._running += 1
        self._context += jobs.context[index]

    def _finish(self, index: int) -> None:
        self.jobs.finish[index] = self.clock
        self.jobs.finish_step[index] = -1
        self.finished += 1
        if self.next_users:
            follower = self.next_users.pop()
            self.jobs.arrival[follower] = self.clock
            self.queue.append(follower)

    def _preempt(self) -> None:
        """Drops the sequence admitted last; it will compute its context so far again, as vLLM does."""
        jobs = self.jobs
        while True:
            index = self._by_admission.pop()
            if jobs.finish_step[index] > 0:
                break
        left = jobs.finish_step[index] - self._step
        grown = (jobs.steps[index] - left) * self.tokens_per_step
        jobs.finish_step[index] = -1
        self._running -= 1
        self._context -= jobs.context[index] + grown
        self._kv_used -= jobs.new_tokens[index] + grown
        jobs.context[index] += round(grown)
        jobs.new_tokens[index] += round(grown)
        jobs.steps[index] = left
        self._preempted.append(index)
        self.tally.preemptions += 1


def _steps_to_cover(wait: float, first: float, rise: float, most: int) -> int:
    """The fewest steps (at least one) that last `wait`, when step j takes first + j·rise."""
    half = first - rise / 2
    root = math.sqrt(half * half + 2 * rise * wait) if rise > 0 else 0.0
    steps = math.ceil(2 * wait / (half + root)) if rise > 0 else math.ceil(wait / first)
    return max(1, min(steps, most))
