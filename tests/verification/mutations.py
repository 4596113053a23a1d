"""The catalogue of mutations: what a certificate file may say wrongly. Each must be rejected."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Change = Callable[[Any], Any]


def at(*path: str | int) -> Callable[[Callable[[Any], Any]], Change]:
    """Make a mutation of what changes the value at a place of the document."""

    def make(change: Callable[[Any], Any]) -> Change:
        def mutate(said: Any) -> Any:
            inner = said
            for step in path[:-1]:
                inner = inner[step]
            inner[path[-1]] = change(inner[path[-1]])
            return said

        return mutate

    return make


def both(*changes: Change) -> Change:
    """Do several."""

    def mutate(said: Any) -> Any:
        for change in changes:
            said = change(said)
        return said

    return mutate


def exchanged(first: str, second: str) -> Callable[[Any], Any]:
    """Exchange two values of an object."""
    return lambda held: {**held, first: held[second], second: held[first]}


def scaled(factor: float) -> Callable[[Any], Any]:
    return lambda value: [factor * x for x in value] if isinstance(value, list) else factor * value


def swapped(i: int, j: int) -> Callable[[Any], Any]:
    def change(values: Any) -> Any:
        values[i], values[j] = values[j], values[i]
        return values

    return change


def put(value: Any) -> Callable[[Any], Any]:
    return lambda before: value


def entry(n: int, change: Callable[[float], float]) -> Callable[[Any], Any]:
    return lambda values: [change(x) if k == n else x for k, x in enumerate(values)]


def largest(change: Callable[[float], float]) -> Callable[[Any], Any]:
    """Change the largest entry."""
    return lambda values: [change(x) if x == max(values) else x for x in values]


def dropped(name: str) -> Callable[[Any], Any]:
    return lambda held: {key: value for key, value in held.items() if key != name}


def with_(name: str, value: Any) -> Callable[[Any], Any]:
    return lambda held: {**held, name: value}


def narrowed(share: float) -> Callable[[Any], Any]:
    """Move a lower end up, or with a negative share an upper end down, by a share of its size."""
    return lambda end: end + share * max(1.0, abs(end))


def of_both(name: str, value: float) -> Change:
    """Change a number in the parameters and in F alike."""
    return both(at("formulation", "parameters", name)(put(value)), at("F", name)(put(value)))


CATALOGUE: tuple[tuple[str, str, Change], ...] = (
    # Stale claims: the weights are others than those that proved them.
    ("w, two entries exchanged", "entropy", at("arrays", "w")(swapped(0, 1))),
    ("w, the sign of an entry", "entropy", at("arrays", "w")(largest(lambda x: -x))),
    ("w, all signs", "entropy", at("arrays", "w")(scaled(-1.0))),
    ("w twice as large", "entropy", at("arrays", "w")(scaled(2.0))),
    ("w larger by 1e-6", "cap", at("arrays", "w")(scaled(1 + 1e-6))),
    ("w smaller by 1e-3 where its sum is free", "bounded", at("arrays", "w")(scaled(0.9))),
    ("w of a quadratic program", "squares", at("arrays", "w")(scaled(1.01))),
    ("w of one hypothesis alone", "entropy", at("arrays", "w")(put([1.0, 0.0, 0.0, 0.0]))),
    ("w of nothing", "entropy", at("arrays", "w")(scaled(0.0))),
    ("w of a penalty", "penalty", at("arrays", "w")(swapped(0, 1))),
    ("d, two entries exchanged", "entropy", at("arrays", "d")(lambda d: swapped(d.index(max(d)), d.index(min(d)))(d))),
    ("d, the sign of an entry", "entropy", at("arrays", "d")(largest(lambda x: -x))),
    ("d larger by 1e-6", "entropy", at("arrays", "d")(scaled(1 + 1e-6))),
    ("d smaller by a half", "cap", at("arrays", "d")(scaled(0.5))),
    ("d uniform", "binary", at("arrays", "d")(put([1 / 16] * 16))),
    ("d above its cap", "cap", at("arrays", "d")(put([1.0] + [0.0] * 15))),
    ("d above the box", "squares", at("arrays", "d")(scaled(3.0))),
    ("d smaller in the box", "squares", at("arrays", "d")(scaled(0.99))),
    ("d outside the ball", "ball", at("arrays", "d")(put([0.9, 0.1] + [0.0] * 14))),
    ("d off the equation", "fixed", at("arrays", "d")(put([1 / 16] * 16))),
    ("d with edges above the bound", "bounded", at("arrays", "d")(lambda d: d[::-1])),
    # Swapped and shifted parameters.
    ("nu of the parameters", "entropy", at("formulation", "parameters", "nu")(put(4.5))),
    ("nu of F", "entropy", at("F", "nu")(put(4.5))),
    ("nu of both", "entropy", of_both("nu", 4.5)),
    ("nu of both, smaller", "cap", of_both("nu", 2.0)),
    ("eta of the parameters", "entropy", at("formulation", "parameters", "eta")(put(7.5))),
    ("eta of F", "entropy", at("F", "eta")(put(7.5))),
    ("eta of both", "entropy", of_both("eta", 7.5)),
    ("nu and eta exchanged", "entropy", at("formulation", "parameters")(exchanged("nu", "eta"))),
    ("nu and eta exchanged in F", "entropy", at("F")(exchanged("nu", "eta"))),
    (
        "nu and eta exchanged in both",
        "entropy",
        both(at("formulation", "parameters")(exchanged("nu", "eta")), at("F")(exchanged("nu", "eta"))),
    ),
    ("gamma of the parameters", "bounded", at("formulation", "parameters", "gamma")(put(0.5))),
    ("gamma of both", "bounded", both(at("formulation", "parameters", "gamma")(put(0.1)), at("G", "gamma")(put(0.1)))),
    ("rho of both", "fixed", both(at("formulation", "parameters", "rho")(put(0.04)), at("G", "rho")(put(0.04)))),
    ("C of both", "squares", of_both("C", 0.9)),
    ("the radius of both", "ball", of_both("r", 0.4)),
    ("the exponent of both", "penalty", of_both("p", 2.0)),
    ("two-sided where it is not", "entropy", at("formulation", "parameters", "two_sided")(put(True))),
    ("a flag that is a number", "entropy", at("formulation", "parameters", "two_sided")(put(0))),
    ("a parameter dropped", "entropy", at("formulation", "parameters")(dropped("epsilon"))),
    ("a parameter too many", "entropy", at("formulation", "parameters")(with_("mu", 1.0))),
    ("nu outside its domain", "cap", of_both("nu", 0.5)),
    # Another program.
    (
        "another formulation of the same pair's kind",
        "entropy",
        at("formulation", "name")(put("unnormalized_erlpboost")),
    ),
    ("the name of a file", "entropy", at("formulation", "name")(put("/tmp/evil.py"))),
    ("no such formulation", "entropy", at("formulation", "name")(put("erlpbost"))),
    ("another F", "entropy", at("F", "kind")(put("binary entropy"))),
    ("another G", "cap", at("G", "kind")(put("absolute"))),
    ("a G that is not there", "cap", at("G", "kind")(put("smallest"))),
    ("the caps of single examples", "cap", at("F", "caps")(put("1 / nu"))),
    ("c of one example", "cap", at("arrays", "c")(entry(3, lambda x: x + 0.3))),
    ("c halved", "squares", at("arrays", "c")(scaled(0.5))),
    ("c dropped", "cap", at("arrays")(dropped("c"))),
    ("c negative", "cap", at("arrays", "c")(entry(0, lambda x: -x))),
    ("d0 of two examples exchanged", "reference", at("arrays", "d0")(swapped(0, 5))),
    ("d0 dropped", "reference", at("arrays")(dropped("d0"))),
    ("d0 twice as large", "reference", at("arrays", "d0")(scaled(2.0))),
    ("d0 where there is none", "cap", at("arrays")(with_("d0", [1 / 16] * 16))),
    ("another U", "entropy", at("data", "U")(put("0" * 64))),
    ("another N", "entropy", at("data", "N")(put(17))),
    ("another t", "entropy", at("data", "t")(put(3))),
    # Claims of more than is proved.
    ("a lower end that is 1e-9 higher", "entropy", at("claim", "lower")(narrowed(2e-9))),
    ("an upper end that is 1e-9 lower", "entropy", at("claim", "upper")(narrowed(-2e-9))),
    ("a lower end of a linear program", "cap", at("claim", "lower")(narrowed(1e-9))),
    ("an upper end of a linear program", "cap", at("claim", "upper")(narrowed(-1e-9))),
    ("ends exchanged", "entropy", at("claim")(exchanged("lower", "upper"))),
    (
        "an interval elsewhere",
        "entropy",
        at("claim")(lambda c: {**c, "lower": 1 + c["lower"], "upper": 5.0}),
    ),
    ("the signs of the interval", "squares", at("claim")(lambda c: {**c, "lower": -c["upper"], "upper": -c["lower"]})),
    (
        "infeasible where it is not",
        "bounded",
        both(at("claim")(put({"outcome": "infeasible", "excess": 0.1})), at("arrays")(dropped("d"))),
    ),
    (
        "infeasible where nothing is bounded",
        "cap",
        both(at("claim")(put({"outcome": "infeasible", "excess": 0.1})), at("arrays")(dropped("d"))),
    ),
    (
        "solved where it is infeasible",
        "infeasible",
        at("claim")(put({"outcome": "solved", "lower": 1, "upper": 2})),
    ),
    ("a larger excess", "infeasible", at("claim", "excess")(lambda x: x * (1 + 1e-6))),
    ("an excess of 0 proved by opposite weights", "infeasible", at("arrays", "w")(scaled(-1.0))),
    ("a ray with the sign of an entry changed", "infeasible", at("arrays", "w")(largest(lambda x: -x))),
    (
        "gamma of both where it is infeasible",
        "infeasible",
        both(at("formulation", "parameters", "gamma")(put(0.9)), at("G", "gamma")(put(0.9))),
    ),
    ("infinite ends turned around", "entropy", at("claim")(with_("lower", "inf"))),
    # The proof.
    ("beta of another proof", "cap", at("proof", "beta")(lambda x: x + 0.1)),
    ("beta that is huge", "entropy", at("proof", "beta")(put(1e200))),
    ("s of another proof", "ball", at("arrays", "s")(scaled(1.1))),
    ("s of none", "penalty", at("arrays", "s")(scaled(0.0))),
    # The form.
    ("another kind of file", "entropy", at("kind")(put("boostopt run"))),
    ("another format", "entropy", at("format")(put(2))),
    ("a format that is a flag", "entropy", at("format")(put(True))),
    ("a part dropped", "entropy", lambda said: dropped("claim")(said)),
    ("a part too many", "entropy", lambda said: with_("comment", "trust me")(said)),
    ("a text for a number", "entropy", at("claim", "lower")(put("0.1"))),
    ("a flag for a number", "entropy", at("claim", "lower")(put(False))),
    ("a list for a number", "entropy", at("F", "eta")(put([7.0]))),
    ("nothing for a number", "entropy", at("proof", "beta")(put(None))),
    ("a number for an object", "entropy", at("F")(put(3))),
    ("an object for a list", "entropy", at("arrays", "d")(put({"0": 1.0}))),
    ("lists in a list", "entropy", at("arrays", "w")(lambda w: [w])),
    ("an array too short", "entropy", at("arrays", "d")(lambda d: d[1:])),
    ("an array that is empty", "entropy", at("arrays", "w")(put([]))),
    ("an array of another name", "entropy", at("arrays")(with_("psi", [0.0] * 16))),
    ("1e308 in d", "entropy", at("arrays", "d")(entry(0, lambda x: 1e308))),
    ("1e308 in w", "squares", at("arrays", "w")(entry(0, lambda x: 1e308))),
    ("1e149 in w", "squares", at("arrays", "w")(entry(0, lambda x: 1e149))),
    ("eta of 1e308", "entropy", at("F", "eta")(put(1e308))),
    (
        "eta of both of 1e90",
        "entropy",
        of_both("eta", 1e90),
    ),
    ("an exponent below 1", "penalty", at("F", "p")(put(0.5))),
    ("a base of a base", "ball", at("F", "base")(lambda base: {"kind": "tilted", "base": base})),
    ("a huge whole number", "entropy", at("data", "N")(put(10**30))),
    ("no examples", "entropy", at("data", "N")(put(0))),
    ("arrays beside that are not there", "entropy", at("arrays")(put({"beside": "0" * 64}))),
    ("a path for the arrays", "entropy", at("arrays")(put({"beside": "/etc/passwd"}))),
)
