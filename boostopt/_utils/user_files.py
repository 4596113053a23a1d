"""Python files of one's own: run as a module, what they define, and where in them something stands."""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import linecache
import os
import sys
import traceback
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, TypeVar

from boostopt.errors import OptionError, reason_of

T = TypeVar("T")

USER_MODULE_PREFIX = "boostopt_page_"
"""Beginning of the names of the modules that such files become."""

DIGEST_ATTRIBUTE = "__boostopt_digest__"
"""Name in such a module of the digest of its text: the same text is run once, so that its classes are the same."""

PACKAGE = Path(__file__).parents[1]
"""The folder of boostopt."""


def is_python_file_path(which: object) -> bool:
    """Return whether a text is taken for the path of a file of one's own, and no name."""
    return isinstance(which, str) and which.endswith(".py")


def load_user_module(path: str | os.PathLike[str], what: str) -> ModuleType:
    """Run a file as a module of its own.

    Parameters
    ----------
    path
        The file.
    what
        What it is the file of, for messages: "a formulation".

    Raises
    ------
    OptionError
        It is not there, is no Python file, or does not run.
    """
    path = Path(path)
    if not os.path.isfile(path):  # unlike Path.is_file, False for a name that is too long
        raise OptionError(f"expected the file of {what}; there is no file {path}. Check the path.")
    name = f"{USER_MODULE_PREFIX}{path.stem}_{hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:16]}"
    digest, known = text_digest(str(path)), sys.modules.get(name)
    if known is not None and vars(known).get(DIGEST_ATTRIBUTE) == digest:
        return known
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise OptionError(f"expected a Python file ending in .py; got {path}. Pass the file of a page.")
    module = importlib.util.module_from_spec(spec)
    vars(module)[DIGEST_ATTRIBUTE] = digest
    sys.modules[spec.name] = module  # dataclasses look their module up there
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as failure:
        del sys.modules[spec.name]
        raise OptionError(
            f"the page {path} must run as Python; it ends with {type(failure).__name__}: {reason_of(failure)}"
            f"{_format_line_suffix(failure)}. Correct the page."
        ) from failure
    return module


def text_digest(path: str | None) -> str:
    """Return SHA-256 of the text of a file; "" for no file, or one that is not there any more."""
    return hashlib.sha256(Path(path).read_bytes()).hexdigest() if path and os.path.isfile(path) else ""


def classes_in(module: ModuleType, base: type[T]) -> list[type[T]]:
    """Return the classes below a base that a module itself defines, abstract ones left out."""
    return [made for made in _subclasses_in(module, base) if not inspect.isabstract(made)]


def _subclasses_in(module: ModuleType, base: type[T]) -> list[type[T]]:
    """Return the classes below a base that a module itself defines."""
    members = [member for member in vars(module).values() if isinstance(member, type)]
    return [member for member in members if member.__module__ == module.__name__ and issubclass(member, base)]


def load_single_class(path: str | os.PathLike[str], base: type[T], what: str) -> type[T]:
    """Return the one class below a base that a file defines.

    Raises
    ------
    OptionError
        The file does not run, or defines none or several.
    """
    module = load_user_module(path, what)
    found = classes_in(module, base)
    if len(found) != 1:
        names = ", ".join(made.__name__ for made in found) or "none"
        raise OptionError(
            f"expected the file of {what}, which defines exactly one subclass of {base.__name__}; {path} has {names}. "
            f"Leave one class, without abstract methods.{_describe_abstract_classes(module, base)}"
        )
    return found[0]


def _describe_abstract_classes(module: ModuleType, base: type[Any]) -> str:
    """Name the classes of a file that lack methods, and these."""
    own: list[Any] = _subclasses_in(module, base)
    lacking = [(made.__name__, sorted(made.__abstractmethods__)) for made in own if inspect.isabstract(made)]
    return "".join(f" {name} lacks {', '.join(methods)}." for name, methods in lacking)


def locate_exception_in_user_file(failure: BaseException) -> str:
    """Return where a user's file raised an exception, as "file.py, line 31 in best"; "" if it did not pass one."""
    frames = [(frame, line) for frame, line in traceback.walk_tb(failure.__traceback__)]
    own = [one for one in frames if str(one[0].f_globals.get("__name__", "")).startswith(USER_MODULE_PREFIX)]
    if not own:
        return ""
    frame, line = own[-1]
    return f"{os.path.basename(frame.f_code.co_filename)}, line {line} in {frame.f_code.co_name}"


def locate_function(function: object) -> str:
    """Return where a function of a user stands, as "file.py:31 in Class.method"; "" for one of boostopt or another."""
    if isinstance(function, property):
        function = function.fget
    function = getattr(function, "__func__", function)  # staticmethod, classmethod
    function = inspect.unwrap(function) if callable(function) else function
    function = getattr(function, "func", function)  # cached_property, partial
    code = getattr(function, "__code__", None)
    if not isinstance(code, CodeType) or not is_user_file(code.co_filename):
        return ""
    return locate_code(code)


def locate_code(code: CodeType) -> str:
    """Return where a function stands; its line is that of `def`, and not of a decorator."""
    lines = linecache.getlines(code.co_filename)[code.co_firstlineno - 1 :]
    heads = (k for k, line in enumerate(lines) if line.lstrip().startswith(("def ", "async def ")) or "lambda" in line)
    return _format_location(code, code.co_firstlineno + next(heads, 0))


def locate_last_user_frame(failure: BaseException) -> str:
    """Return the last line that a user wrote in the traceback of a failure, or of what it comes from; "" for none."""
    if failure.__cause__ is not None and (inner := locate_last_user_frame(failure.__cause__)):
        return inner
    frames = [(f, line) for f, line in traceback.walk_tb(failure.__traceback__) if is_user_file(f.f_code.co_filename)]
    return _format_location(frames[-1][0].f_code, frames[-1][1]) if frames else ""


def is_user_file(name: str) -> bool:
    """Return whether a file is neither boostopt's, but for its pages, nor of an installed package."""
    path = Path(name)
    if not name.endswith(".py") or "site-packages" in path.parts or path.is_relative_to(_STANDARD):
        return False
    return not path.is_relative_to(PACKAGE) or path.parent.name in ("formulations", "templates")


_STANDARD = Path(os.__file__).parent
"""Where the standard library stands."""


def _format_location(code: CodeType, line: int) -> str:
    name = code.co_qualname.rpartition("<locals>.")[2]
    return f"{Path(code.co_filename).name}:{line} in {name}"


def _format_line_suffix(failure: BaseException) -> str:
    """Return the line of a failure in a file, as the end of a sentence; "" where it has none."""
    where = locate_last_user_frame(failure)
    return f" ({where.partition(' in ')[0]})" if where else ""
