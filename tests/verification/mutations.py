"""The catalogue of mutations: what a certificate file may say wrongly. Each must be rejected."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Change = Callable[[Any], Any]


def mutation(*path: str | int) -> Callable[[Callable[[Any], Any]], Change]:
    """Return the decorator of a change of one value: it makes a mutation of the document."""

    def make(change: Callable[[Any], Any]) -> Change:
        def mutate(content: Any) -> Any:
            inner = content
            for step in path[:-1]:
                inner = inner[step]
            inner[path[-1]] = change(inner[path[-1]])
            return content

        return mutate

    return make


def both(*changes: Change) -> Change:
    """Return the composition of several changes."""

    def mutate(content: Any) -> Any:
        for change in changes:
            content = change(content)
        return content

    return mutate


def exchange(first: str, second: str) -> Callable[[Any], Any]:
    """Return a change that exchanges two values of an object."""
    return lambda content: {**content, first: content[second], second: content[first]}


def scale(factor: float) -> Callable[[Any], Any]:
    return lambda value: [factor * x for x in value] if isinstance(value, list) else factor * value


def swap(i: int, j: int) -> Callable[[Any], Any]:
    def change(values: Any) -> Any:
        values[i], values[j] = values[j], values[i]
        return values

    return change


def constant(value: Any) -> Callable[[Any], Any]:
    return lambda original: value


def entry(n: int, change: Callable[[float], float]) -> Callable[[Any], Any]:
    return lambda values: [change(x) if k == n else x for k, x in enumerate(values)]


def largest(change: Callable[[float], float]) -> Callable[[Any], Any]:
    """Change the largest entry."""
    return lambda values: [change(x) if x == max(values) else x for x in values]


def drop(name: str) -> Callable[[Any], Any]:
    return lambda content: {key: value for key, value in content.items() if key != name}


def extra_entry(name: str, value: Any) -> Callable[[Any], Any]:
    return lambda content: {**content, name: value}


def shift_bound(share: float) -> Callable[[Any], Any]:
    """Move a lower bound up, or with a negative share an upper bound down, by a share of its size."""
    return lambda end: end + share * max(1.0, abs(end))


def number_in_both(name: str, value: float) -> Change:
    """Return a change of a number in the parameters and in F alike."""
    return both(mutation("formulation", "parameters", name)(constant(value)), mutation("F", name)(constant(value)))


CATALOGUE: tuple[tuple[str, str, Change], ...] = (
    # Stale claims: the weights are others than those that proved them.
    ("w, two entries exchanged", "entropy", mutation("arrays", "w")(swap(0, 1))),
    ("w, the sign of an entry", "entropy", mutation("arrays", "w")(largest(lambda x: -x))),
    ("w, all signs", "entropy", mutation("arrays", "w")(scale(-1.0))),
    ("w twice as large", "entropy", mutation("arrays", "w")(scale(2.0))),
    ("w larger by 1e-6", "cap", mutation("arrays", "w")(scale(1 + 1e-6))),
    ("w smaller by 1e-3 where its sum is free", "bounded", mutation("arrays", "w")(scale(0.9))),
    ("w of a quadratic program", "squares", mutation("arrays", "w")(scale(1.01))),
    ("w of one hypothesis alone", "entropy", mutation("arrays", "w")(constant([1.0, 0.0, 0.0, 0.0]))),
    ("w of nothing", "entropy", mutation("arrays", "w")(scale(0.0))),
    ("w of a penalty", "penalty", mutation("arrays", "w")(swap(0, 1))),
    (
        "d, two entries exchanged",
        "entropy",
        mutation("arrays", "d")(lambda d: swap(d.index(max(d)), d.index(min(d)))(d)),
    ),
    ("d, the sign of an entry", "entropy", mutation("arrays", "d")(largest(lambda x: -x))),
    ("d larger by 1e-6", "entropy", mutation("arrays", "d")(scale(1 + 1e-6))),
    ("d smaller by a half", "cap", mutation("arrays", "d")(scale(0.5))),
    ("d uniform", "binary", mutation("arrays", "d")(constant([1 / 16] * 16))),
    ("d above its cap", "cap", mutation("arrays", "d")(constant([1.0] + [0.0] * 15))),
    ("d above the box", "squares", mutation("arrays", "d")(scale(3.0))),
    ("d smaller in the box", "squares", mutation("arrays", "d")(scale(0.99))),
    ("d outside the ball", "ball", mutation("arrays", "d")(constant([0.9, 0.1] + [0.0] * 14))),
    ("d off the equation", "fixed", mutation("arrays", "d")(constant([1 / 16] * 16))),
    ("d with edges above the bound", "bounded", mutation("arrays", "d")(lambda d: d[::-1])),
    # Swapped and shifted parameters.
    ("nu of the parameters", "entropy", mutation("formulation", "parameters", "nu")(constant(4.5))),
    ("nu of F", "entropy", mutation("F", "nu")(constant(4.5))),
    ("nu of both", "entropy", number_in_both("nu", 4.5)),
    ("nu of both, smaller", "cap", number_in_both("nu", 2.0)),
    ("eta of the parameters", "entropy", mutation("formulation", "parameters", "eta")(constant(7.5))),
    ("eta of F", "entropy", mutation("F", "eta")(constant(7.5))),
    ("eta of both", "entropy", number_in_both("eta", 7.5)),
    ("nu and eta exchanged", "entropy", mutation("formulation", "parameters")(exchange("nu", "eta"))),
    ("nu and eta exchanged in F", "entropy", mutation("F")(exchange("nu", "eta"))),
    (
        "nu and eta exchanged in both",
        "entropy",
        both(mutation("formulation", "parameters")(exchange("nu", "eta")), mutation("F")(exchange("nu", "eta"))),
    ),
    ("gamma of the parameters", "bounded", mutation("formulation", "parameters", "gamma")(constant(0.5))),
    (
        "gamma of both",
        "bounded",
        both(mutation("formulation", "parameters", "gamma")(constant(0.1)), mutation("G", "gamma")(constant(0.1))),
    ),
    (
        "rho of both",
        "fixed",
        both(mutation("formulation", "parameters", "rho")(constant(0.04)), mutation("G", "rho")(constant(0.04))),
    ),
    ("C of both", "squares", number_in_both("C", 0.9)),
    ("the radius of both", "ball", number_in_both("r", 0.4)),
    ("the exponent of both", "penalty", number_in_both("p", 2.0)),
    ("two-sided where it is not", "entropy", mutation("formulation", "parameters", "two_sided")(constant(True))),
    ("a flag that is a number", "entropy", mutation("formulation", "parameters", "two_sided")(constant(0))),
    ("a parameter dropped", "entropy", mutation("formulation", "parameters")(drop("epsilon"))),
    ("a parameter too many", "entropy", mutation("formulation", "parameters")(extra_entry("mu", 1.0))),
    ("nu outside its domain", "cap", number_in_both("nu", 0.5)),
    # Another program.
    (
        "another formulation of the same pair's kind",
        "entropy",
        mutation("formulation", "name")(constant("unnormalized_erlpboost")),
    ),
    ("the name of a file", "entropy", mutation("formulation", "name")(constant("/tmp/evil.py"))),
    ("no such formulation", "entropy", mutation("formulation", "name")(constant("erlpbost"))),
    ("another F", "entropy", mutation("F", "kind")(constant("binary entropy"))),
    ("another G", "cap", mutation("G", "kind")(constant("absolute"))),
    ("a G that is not there", "cap", mutation("G", "kind")(constant("smallest"))),
    ("the caps of single examples", "cap", mutation("F", "caps")(constant("1 / nu"))),
    ("c of one example", "cap", mutation("arrays", "c")(entry(3, lambda x: x + 0.3))),
    ("c halved", "squares", mutation("arrays", "c")(scale(0.5))),
    ("c dropped", "cap", mutation("arrays")(drop("c"))),
    ("c negative", "cap", mutation("arrays", "c")(entry(0, lambda x: -x))),
    ("d0 of two examples exchanged", "reference", mutation("arrays", "d0")(swap(0, 5))),
    ("d0 dropped", "reference", mutation("arrays")(drop("d0"))),
    ("d0 twice as large", "reference", mutation("arrays", "d0")(scale(2.0))),
    ("d0 where there is none", "cap", mutation("arrays")(extra_entry("d0", [1 / 16] * 16))),
    ("another U", "entropy", mutation("data", "U")(constant("0" * 64))),
    ("another N", "entropy", mutation("data", "N")(constant(17))),
    ("another t", "entropy", mutation("data", "t")(constant(3))),
    # Claims of more than is proved.
    ("a lower bound that is 1e-9 higher", "entropy", mutation("claim", "lower")(shift_bound(2e-9))),
    ("an upper bound that is 1e-9 lower", "entropy", mutation("claim", "upper")(shift_bound(-2e-9))),
    ("a lower bound of a linear program", "cap", mutation("claim", "lower")(shift_bound(1e-9))),
    ("an upper bound of a linear program", "cap", mutation("claim", "upper")(shift_bound(-1e-9))),
    ("ends exchanged", "entropy", mutation("claim")(exchange("lower", "upper"))),
    (
        "an interval elsewhere",
        "entropy",
        mutation("claim")(lambda c: {**c, "lower": 1 + c["lower"], "upper": 5.0}),
    ),
    (
        "the signs of the interval",
        "squares",
        mutation("claim")(lambda c: {**c, "lower": -c["upper"], "upper": -c["lower"]}),
    ),
    (
        "infeasible where it is not",
        "bounded",
        both(mutation("claim")(constant({"outcome": "infeasible", "excess": 0.1})), mutation("arrays")(drop("d"))),
    ),
    (
        "infeasible where nothing is bounded",
        "cap",
        both(mutation("claim")(constant({"outcome": "infeasible", "excess": 0.1})), mutation("arrays")(drop("d"))),
    ),
    (
        "solved where it is infeasible",
        "infeasible",
        mutation("claim")(constant({"outcome": "solved", "lower": 1, "upper": 2})),
    ),
    ("a larger excess", "infeasible", mutation("claim", "excess")(lambda x: x * (1 + 1e-6))),
    ("an excess of 0 proved by opposite weights", "infeasible", mutation("arrays", "w")(scale(-1.0))),
    ("a ray with the sign of an entry changed", "infeasible", mutation("arrays", "w")(largest(lambda x: -x))),
    (
        "gamma of both where it is infeasible",
        "infeasible",
        both(mutation("formulation", "parameters", "gamma")(constant(0.9)), mutation("G", "gamma")(constant(0.9))),
    ),
    ("infinite ends turned around", "entropy", mutation("claim")(extra_entry("lower", "inf"))),
    # The proof.
    ("beta of another proof", "cap", mutation("proof", "beta")(lambda x: x + 0.1)),
    ("beta that is huge", "entropy", mutation("proof", "beta")(constant(1e200))),
    ("s of another proof", "ball", mutation("arrays", "s")(scale(1.1))),
    ("s of none", "penalty", mutation("arrays", "s")(scale(0.0))),
    # The form.
    ("another kind of file", "entropy", mutation("kind")(constant("boostopt run"))),
    ("another format", "entropy", mutation("format")(constant(2))),
    ("a format that is a flag", "entropy", mutation("format")(constant(True))),
    ("a part dropped", "entropy", lambda content: drop("claim")(content)),
    ("a part too many", "entropy", lambda content: extra_entry("comment", "trust me")(content)),
    ("a text for a number", "entropy", mutation("claim", "lower")(constant("0.1"))),
    ("a flag for a number", "entropy", mutation("claim", "lower")(constant(False))),
    ("a list for a number", "entropy", mutation("F", "eta")(constant([7.0]))),
    ("nothing for a number", "entropy", mutation("proof", "beta")(constant(None))),
    ("a number for an object", "entropy", mutation("F")(constant(3))),
    ("an object for a list", "entropy", mutation("arrays", "d")(constant({"0": 1.0}))),
    ("lists in a list", "entropy", mutation("arrays", "w")(lambda w: [w])),
    ("an array too short", "entropy", mutation("arrays", "d")(lambda d: d[1:])),
    ("an array that is empty", "entropy", mutation("arrays", "w")(constant([]))),
    ("an array of another name", "entropy", mutation("arrays")(extra_entry("psi", [0.0] * 16))),
    ("1e308 in d", "entropy", mutation("arrays", "d")(entry(0, lambda x: 1e308))),
    ("1e308 in w", "squares", mutation("arrays", "w")(entry(0, lambda x: 1e308))),
    ("1e149 in w", "squares", mutation("arrays", "w")(entry(0, lambda x: 1e149))),
    ("eta of 1e308", "entropy", mutation("F", "eta")(constant(1e308))),
    (
        "eta of both of 1e90",
        "entropy",
        number_in_both("eta", 1e90),
    ),
    ("an exponent below 1", "penalty", mutation("F", "p")(constant(0.5))),
    ("a base of a base", "ball", mutation("F", "base")(lambda base: {"kind": "tilted", "base": base})),
    ("a huge whole number", "entropy", mutation("data", "N")(constant(10**30))),
    ("no examples", "entropy", mutation("data", "N")(constant(0))),
    ("arrays beside that are not there", "entropy", mutation("arrays")(constant({"beside": "0" * 64}))),
    ("a path for the arrays", "entropy", mutation("arrays")(constant({"beside": "/etc/passwd"}))),
)
