"""Progress on stderr: stage, share done, rate, time left, and how many seeds the probe has let through."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn

if TYPE_CHECKING:
    from birthmark.search.progress import Status


class Terminal:
    """A progress bar that appears with the first news and leaves no trace; silent where nobody looks."""

    def __init__(self, *, quiet: bool) -> None:
        console = Console(stderr=True, highlight=False)
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("{task.percentage:>5.1f} %  {task.fields[facts]}"),
            console=console,
            transient=True,
            disable=quiet or not console.is_terminal,
        )
        self._task: TaskID | None = None

    def __enter__(self) -> Terminal:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def update(self, status: Status) -> None:
        """Show where a search stands."""
        if self._task is None:
            self._task = self._bar.add_task("", total=1.0, facts="")
        left = "" if status.seconds_left is None else f"{duration(status.seconds_left)} left, "
        probe = f" probe {status.probe} of {status.probes}" if status.probes > 1 else ""
        facts = f"{left}{status.seeds_per_second / 1e6:,.0f} M seeds/s, {status.hits:,} passed"
        self._bar.update(
            self._task, completed=status.share, description=f"{status.stage}{probe}", facts=facts
        )


def duration(seconds: float) -> str:
    """Seconds as a person says them: "8 s", "3 min", "1 h 12 min"."""
    whole = max(0, round(seconds))
    if whole < 100:
        return f"{whole} s"
    minutes = round(whole / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"
