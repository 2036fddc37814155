"""Timing: contenders take turns, so that whatever disturbs the machine disturbs all of them."""

import gc
import statistics
import time
from dataclasses import dataclass, field

from threadpoolctl import threadpool_limits

# The threads of a BLAS keep spinning for some hundredths of a second after their last call, on a core
# that the next contender needs.
REST = 0.1


@dataclass
class Timing:
    seconds: list = field(default_factory=list)

    @property
    def median(self):
        return statistics.median(self.seconds)

    @property
    def spread(self):
        """Half the distance between the quartiles, relative to the median."""
        if len(self.seconds) < 4:
            return (max(self.seconds) - min(self.seconds)) / 2 / self.median
        low, _, high = statistics.quantiles(self.seconds, n=4)
        return (high - low) / 2 / self.median


def once(work):
    """Seconds of one call, and its result."""
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def take_turns(works, threads, budget, least=3, most=30):
    """Times every work of the dict `works`, in turns, until the budget in seconds is used.

    The first call of each warms it up and counts only if it takes seconds.  In its turn a contender
    that is quick runs several times, and a call of less than a millisecond is timed in batches; each
    contender gets `least` turns however long they take.
    """
    timings = {name: Timing() for name in works}
    gc.collect()
    gc.disable()
    try:
        with threadpool_limits(limits=threads):
            first = {name: once(work)[0] for name, work in works.items()}
            if max(first.values()) > 2:
                least -= 1
            for name, seconds in first.items():
                if seconds > 2:
                    timings[name].seconds.append(seconds)
            batch = {name: max(1, int(1e-3 / seconds)) for name, seconds in first.items()}
            slot = {name: max(1, min(5, int(max(first.values()) / 4 / (seconds * batch[name]))))
                    for name, seconds in first.items()}
            begin = time.perf_counter()
            for turn in range(most):
                if turn >= least and time.perf_counter() - begin > budget:
                    break
                for name, work in works.items():
                    if threads > 1:
                        time.sleep(REST)
                    for _ in range(slot[name]):
                        start = time.perf_counter()
                        for _ in range(batch[name]):
                            work()
                        timings[name].seconds.append((time.perf_counter() - start) / batch[name])
    finally:
        gc.enable()
    return timings
