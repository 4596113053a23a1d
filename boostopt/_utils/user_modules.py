"""Users' Python files: running them as modules, the classes that they define, and locations in them."""

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

from boostopt.errors import OptionError, reason_of, short_repr

T = TypeVar("T")

USER_MODULE_PREFIX = "boostopt_page_"
"""Prefix of the module names of users' files."""

DIGEST_ATTRIBUTE = "__boostopt_digest__"
"""Attribute with the digest of a module's text: equal text runs once, so that its classes stay the same objects."""

PACKAGE = Path(__file__).parents[1]
"""The folder of boostopt."""


def is_python_file_path(name: object) -> bool:
    """Return whether an argument is the path of a Python file, and no name."""
    return isinstance(name, str) and name.endswith(".py")


def is_place_in_file(name: str) -> bool:
    """Return whether a text is FILE:NAME, the name of an object in a Python file."""
    return ".py:" in name


def load_object(place: str, description: str) -> Any:
    """Return the object with a name in a Python file, for FILE:NAME.

    Parameters
    ----------
    place
        The file and the name.
    description
        The expected object, for messages: "a CVXPY problem".

    Raises
    ------
    OptionError
        There is no such file or name.
    """
    path, separator, name = place.rpartition(":")
    if not separator or not path or not name:
        raise OptionError(
            f"expected FILE:NAME; got {short_repr(place)}. Pass a file and a name, such as model.py:problem."
        )
    module = load_user_module(path, description)
    if name not in vars(module):
        raise OptionError(f"expected a name in {path}; got {name}, which it does not define. Correct the name.")
    return vars(module)[name]


def load_user_module(path: str | os.PathLike[str], description: str) -> ModuleType:
    """Run a file as a separate module.

    Parameters
    ----------
    path
        The file.
    description
        The expected content of the file, for messages: "a formulation".

    Raises
    ------
    OptionError
        The file does not exist, is no Python file, or does not run.
    """
    path = Path(path)
    if not os.path.isfile(path):  # unlike Path.is_file, False for a name that is too long
        raise OptionError(f"expected the file of {description}; there is no file {path}. Check the path.")
    name = f"{USER_MODULE_PREFIX}{path.stem}_{hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:16]}"
    digest, loaded = text_digest(str(path)), sys.modules.get(name)
    if loaded is not None and vars(loaded).get(DIGEST_ATTRIBUTE) == digest:
        return loaded
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise OptionError(f"expected a Python file ending in .py; got {path}. Pass the file of {description}.")
    module = importlib.util.module_from_spec(spec)
    vars(module)[DIGEST_ATTRIBUTE] = digest
    sys.modules[spec.name] = module  # dataclasses look up their module here
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as failure:
        del sys.modules[spec.name]
        raise OptionError(
            f"the file {path} must run as Python; it ends with {type(failure).__name__}: {reason_of(failure)}"
            f"{_format_line_suffix(failure)}. Correct the file."
        ) from failure
    return module


def text_digest(path: str | None) -> str:
    """Return the SHA-256 of the text of a file; "" for no file, or for a file that no longer exists."""
    return hashlib.sha256(Path(path).read_bytes()).hexdigest() if path and os.path.isfile(path) else ""


def classes_in(module: ModuleType, base: type[T]) -> list[type[T]]:
    """Return the subclasses of a base that a module itself defines, without abstract ones."""
    return [cls for cls in _subclasses_in(module, base) if not inspect.isabstract(cls)]


def _subclasses_in(module: ModuleType, base: type[T]) -> list[type[T]]:
    """Return the subclasses of a base that a module itself defines."""
    members = [member for member in vars(module).values() if isinstance(member, type)]
    return [member for member in members if member.__module__ == module.__name__ and issubclass(member, base)]


def load_single_class(path: str | os.PathLike[str], base: type[T], description: str) -> type[T]:
    """Return the only subclass of a base that a file defines.

    Raises
    ------
    OptionError
        The file does not run, or it defines no such class or several.
    """
    module = load_user_module(path, description)
    classes = classes_in(module, base)
    if len(classes) != 1:
        names = ", ".join(cls.__name__ for cls in classes) or "none"
        raise OptionError(
            f"expected the file of {description}, which defines exactly one subclass of {base.__name__}; {path} has "
            f"{names}. "
            f"Leave one class, without abstract methods.{_describe_abstract_classes(module, base)}"
        )
    return classes[0]


def _describe_abstract_classes(module: ModuleType, base: type[Any]) -> str:
    """Return a sentence about each abstract class of a file, with its missing methods."""
    subclasses: list[Any] = _subclasses_in(module, base)
    lacking = [(cls.__name__, sorted(cls.__abstractmethods__)) for cls in subclasses if inspect.isabstract(cls)]
    return "".join(f" {name} lacks {', '.join(methods)}." for name, methods in lacking)


def locate_exception_in_user_file(failure: BaseException) -> str:
    """Return the location at which a user's file raised an exception, as "file.py, line 31 in best"; "" without one."""
    frames = [(frame, line) for frame, line in traceback.walk_tb(failure.__traceback__)]
    user_frames = [
        entry for entry in frames if str(entry[0].f_globals.get("__name__", "")).startswith(USER_MODULE_PREFIX)
    ]
    if not user_frames:
        return ""
    frame, line = user_frames[-1]
    return f"{os.path.basename(frame.f_code.co_filename)}, line {line} in {frame.f_code.co_name}"


def locate_function(function: object) -> str:
    """Return the location of a user's function, as "file.py:31 in Class.method"; "" for a function of a package."""
    function = getattr(function, "__func__", function)  # of a bound method
    function = inspect.unwrap(function) if callable(function) else function
    function = getattr(function, "func", function)  # of a partial
    code = getattr(function, "__code__", None)
    if not isinstance(code, CodeType) or not is_user_file(code.co_filename):
        return ""
    # The line of `def`, and not of a decorator.
    lines = linecache.getlines(code.co_filename)[code.co_firstlineno - 1 :]
    heads = (k for k, line in enumerate(lines) if line.lstrip().startswith(("def ", "async def ")) or "lambda" in line)
    return format_location(code, code.co_firstlineno + next(heads, 0))


def locate_last_user_frame(failure: BaseException) -> str:
    """Return the last line of a user's file in the traceback of a failure, or of its cause; "" for none."""
    if failure.__cause__ is not None and (inner := locate_last_user_frame(failure.__cause__)):
        return inner
    frames = [(f, line) for f, line in traceback.walk_tb(failure.__traceback__) if is_user_file(f.f_code.co_filename)]
    return format_location(frames[-1][0].f_code, frames[-1][1]) if frames else ""


def is_user_file(name: str) -> bool:
    """Return whether a file belongs to neither boostopt, except for its formulations, nor an installed package."""
    path = Path(name)
    if not name.endswith(".py") or "site-packages" in path.parts or path.is_relative_to(_STANDARD_LIBRARY):
        return False
    return not path.is_relative_to(PACKAGE) or path.parent.name in ("formulations", "templates")


_STANDARD_LIBRARY = Path(os.__file__).parent
"""The folder of the standard library."""


def format_location(code: CodeType, line: int) -> str:
    """Return a line of a function as "file.py:31 in Class.method"."""
    name = code.co_qualname.rpartition("<locals>.")[2]
    return f"{Path(code.co_filename).name}:{line} in {name}"


def _format_line_suffix(failure: BaseException) -> str:
    """Return the line of a failure in a user's file, as the end of a sentence; "" for other failures."""
    location = locate_last_user_frame(failure)
    return f" ({location.partition(' in ')[0]})" if location else ""
