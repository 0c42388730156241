"""Tasks on all cores. The kernels run without the interpreter lock, so threads are enough."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from threading import Event
from typing import TypeVar

T = TypeVar("T")

#: Tasks that wait beside those in flight, for each thread, and the seconds after which they are looked for.
AHEAD, WAIT_SECONDS = 2, 0.2


def finished(tasks: Iterator[Callable[[Event], T | None]], workers: int) -> Generator[T, None, None]:
    """Do tasks; close the generator to end early, which gives up those in flight.

    Args:
        tasks: each is called with an event that, once set, asks it to return None soon. They are taken from
            the iterator as threads get free.
        workers: threads.
    """
    stop = Event()
    pool = ThreadPoolExecutor(workers, thread_name_prefix="birthmark-cpu-search")
    try:
        flying: list[Future[T | None]] = []
        while True:
            while len(flying) < AHEAD * workers and (task := next(tasks, None)) is not None:
                flying.append(pool.submit(task, stop))
            if not flying:
                return
            wait(flying, timeout=WAIT_SECONDS, return_when=FIRST_COMPLETED)
            landed = [future for future in flying if future.done()]
            flying = [future for future in flying if future not in landed]
            for future in landed:
                result = future.result()
                if result is not None:
                    yield result
    finally:
        stop.set()
        pool.shutdown(wait=True, cancel_futures=True)
