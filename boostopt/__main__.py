"""`python -m boostopt` is the command line, as is the script `boostopt`."""

import sys


def main() -> None:
    """Run the command line; Ctrl-C while it is loaded, which takes a second, ends as later."""
    try:
        from boostopt.cli import main as run
    except KeyboardInterrupt:
        if sys.stderr is not None:
            sys.stderr.write("interrupted\n")
        raise SystemExit(130) from None
    run()


if __name__ == "__main__":
    main()
