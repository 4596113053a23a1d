"""`python -m boostopt` is the command line, as is the script `boostopt`."""

import atexit
import contextlib
import os
import signal
import sys

INTERRUPTED = 130
"""The exit status after Ctrl-C."""


def main() -> None:
    """Run the command line; Ctrl-C while it is loaded, which takes a second, ends as later."""
    statuses = list[object]()
    atexit.register(_end_if_interrupted, statuses)  # called after what is registered later
    try:
        try:
            from boostopt.cli import main as run
        except KeyboardInterrupt:
            if sys.stderr is not None:
                sys.stderr.write("interrupted\n")
            raise SystemExit(INTERRUPTED) from None
        run()
    except SystemExit as end:
        statuses.append(end.code)
        raise
    finally:
        atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)  # the results are there: nothing to interrupt


def _end_if_interrupted(statuses: list[object]) -> None:
    """End the process with the status of an interrupt.

    `python -m` itself would end it by a signal if the interrupt passed through code that is a text, such as that of
    dataclasses, even though it was handled.
    """
    if INTERRUPTED in statuses:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(AttributeError, OSError, ValueError):  # no such stream, or it is closed
                stream.flush()
        os._exit(INTERRUPTED)


if __name__ == "__main__":
    main()
