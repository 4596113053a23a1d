"""Pages of CVXPY problems: the problem, its Lagrangian and its KKT conditions, typeset in a notebook."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from boostopt._utils.cvxpy_tools import cp
from boostopt._utils.validation import check_instance
from boostopt.errors import ProblemError
from boostopt.problem_certificates.pages.constraint_formulas import constraint_formulas, weight_symbol
from boostopt.problem_certificates.pages.expression_names import ExpressionNames
from boostopt.problem_certificates.pages.expression_typesetter import ExpressionTypesetter, form_of, visible_positions
from boostopt.problem_certificates.pages.lagrangian_slopes import SlopeCollector, Slopes, WeightedTerm, sum_with_dots
from boostopt.problem_certificates.pages.slope_rules import Weight
from boostopt.problem_certificates.pages.tex_formulas import PRODUCT, SUM, Formula, escape_words, in_brackets
from boostopt.problem_certificates.problem_kinds import check_form, non_convex_part

MAX_SHOWN_ENTRIES = 4
"""Number of entries up to which the table of symbols has the numbers of data."""

NOTES = {
    r"\circ": r"$\circ$ is the product entry by entry.",
    "[": "Indices begin with 0, as in Python.",
    r"\langle": r"$\langle A, B \rangle = \operatorname{tr}(A^{\top} B)$.",
    r"\partial": r"$\partial$ is the set of subgradients.",
    "N_{": "$N_{C}(x)$ is the normal cone of $C$ at $x$: the slopes that the bounds of $x$ take.",
    r"\mathbb{S}": "That of all symmetric matrices consists of the skew-symmetric ones.",
    "": "A point with multipliers that satisfy all conditions is optimal.",
}
"""The explanation of signs, in Markdown; that of the empty text is always there."""


@dataclass(frozen=True, repr=False)
class ProblemPage:
    """A CVXPY problem, its Lagrangian and its KKT conditions as TeX.

    Notebooks show it typeset; `print(page)` prints Markdown, for a document.

    Attributes
    ----------
    statement
        The objective, then the constraints, each with its multipliers after a colon.
    lagrangian
        The terms of the Lagrangian.
    conditions
        The rows of each kind of condition: primal feasibility, dual feasibility, complementarity and stationarity.
    symbols
        Variables, data, parameters, multipliers and functions, each with its meaning.
    """

    statement: tuple[str, ...]
    lagrangian: tuple[str, ...]
    conditions: Mapping[str, tuple[str, ...]]
    symbols: tuple[tuple[str, str], ...]

    @property
    def latex(self) -> str:
        """The problem, the Lagrangian and the conditions as one display of LaTeX."""
        rows = [*_problem_rows(self.statement), "", *_lagrangian_rows(self.lagrangian), "", *self._condition_rows()]
        body = " \\\\[0.5ex]\n".join(_in_display_style(row) for row in rows)
        return f"\\begin{{array}}{{ll}}\n{body}\n\\end{{array}}"

    def _repr_markdown_(self) -> str:
        formulas = [*self.statement, *(row for part in self.conditions.values() for row in part)]
        parts = [
            "**Problem**",
            _display(_problem_rows(self.statement)),
            "**Lagrangian**",
            _display(_lagrangian_rows(self.lagrangian)),
            "**KKT conditions**",
            _display(list(self._condition_rows())),
            "\n".join(
                ["| symbol | meaning |", "|---|---|", *(f"| ${name}$ | {text} |" for name, text in self.symbols)]
            ),
            " ".join(note for sign, note in NOTES.items() if any(sign in row for row in formulas)),
        ]
        return "\n\n".join(parts)

    def __str__(self) -> str:
        return self._repr_markdown_()

    def __repr__(self) -> str:
        return f"ProblemPage({self.statement[0]!r}); print(page) shows its Markdown"

    def _condition_rows(self) -> Iterator[str]:
        """Yield the conditions, with the kind before the first of each."""
        for kind, rows in self.conditions.items():
            for k, row in enumerate(rows):
                first = rf"\text{{{kind}}}" if k == 0 else ""
                yield f"{first} & {row}"


def problem_page(problem: Any, names: Mapping[str, Any] | None = None) -> ProblemPage:
    """Typeset a CVXPY problem, its Lagrangian and its KKT conditions.

    Parameters
    ----------
    problem
        The `cvxpy.Problem`; no values are needed. It must follow CVXPY's rules of convexity (DCP).
    names
        Names of data, and of variables and parameters without names, such as {"A": A, "b": b}, or `globals()`. Values
        that are neither arrays nor objects of CVXPY are passed over. Other data have generic names.

    Returns
    -------
    A page that notebooks show typeset. The multipliers have the signs of CVXPY: those of `a <= b` are at least 0, those
    of `a == b` belong to a - b, and those of cones lie in the dual cone. Constraints and terms of one form in a row are
    shortened. Atoms without a formula are shown by their names.

    Raises
    ------
    ProblemError
        The argument is no CVXPY problem, it is not convex by CVXPY's rules, or it has complex or integer variables.

    References
    ----------
    Boyd, Vandenberghe 2004, section 5.5.3, and section 5.9 for cones.
    """
    check_instance(
        "problem",
        problem,
        cp.Problem,
        "a cvxpy.Problem",
        "Pass cp.Problem(objective, constraints).",
        ProblemError,
    )
    if names is not None:
        check_instance("names", names, Mapping, "objects by name", 'Pass a mapping such as {"A": A}.', ProblemError)
        for name in names:
            check_instance("a key of names", name, str, "a text", 'Pass a mapping such as {"A": A}.', ProblemError)
    check_form(problem)
    _check_convex(problem)
    return _PageWriter(problem, names or {}).page()


def _check_convex(problem: Any) -> None:
    """Refuse problems whose KKT conditions are not those of a convex problem.

    Raises
    ------
    ProblemError
        A variable is complex, boolean or integer, or a part of the problem is not DCP.
    """
    for variable in problem.variables():
        for attribute in ("complex", "imag", "hermitian", "boolean", "integer"):
            if variable.attributes.get(attribute):
                raise ProblemError(
                    f"variables must be real and continuous; got {variable.name()}, which is {attribute}. Typeset a "
                    "problem with a continuous variable in its place."
                )
    if part := non_convex_part(problem):
        raise ProblemError(
            f"expected a problem that is convex by CVXPY's rules (DCP); got {part}, which is not. Write it with convex "
            "atoms."
        )


class _PageWriter:
    """Writes the page of one problem.

    Parameters
    ----------
    problem
        The problem.
    names
        Names of a user.
    """

    def __init__(self, problem: Any, names: Mapping[str, Any]) -> None:
        self._problem = problem
        self._variables = problem.variables()
        expressions = [problem.objective.args[0], *(part for c in problem.constraints for part in c.args)]
        sides = (side for variable in self._variables for side in variable.attributes.get("bounds") or ())
        expressions += problem.parameters()  # those of exponents and the like are no arguments of an atom
        expressions += [_as_expression(side) for side in sides if side is not None]
        self._names = ExpressionNames(expressions, names)
        self._typesetter = ExpressionTypesetter(self._names)
        self._visible, self._elided = _visible_constraints(problem.constraints)
        self._constraints = {k: constraint_formulas(c, k, self._typesetter) for k, c in enumerate(problem.constraints)}

    def page(self) -> ProblemPage:
        """Return the page."""
        return ProblemPage(
            tuple(self._statement()),
            tuple(self._lagrangian()),
            {
                "primal feasibility": tuple(self._primal()),
                "dual feasibility": tuple(self._dual()),
                "complementarity": tuple(self._complementarity()),
                "stationarity": tuple(self._stationarity()),
            },
            tuple(self._symbols()),
        )

    @property
    def _is_maximized(self) -> bool:
        return isinstance(self._problem.objective, cp.Maximize)

    def _statement(self) -> Iterator[str]:
        """Yield the objective and the constraints."""
        sense = "max" if self._is_maximized else "min"
        variables = ", ".join(self._variable(v).text for v in self._variables)
        subscript = f"_{{{variables}}}" if variables else ""
        yield rf"\{sense}{subscript} & {self._typesetter.formula(self._problem.objective.args[0]).text}"
        for k in self._visible:
            if k is None:
                yield r"& \quad \vdots"
                continue
            formulas = self._constraints[k]
            multipliers = ", ".join(multiplier.text for multiplier in formulas.multipliers)
            multipliers = multipliers if len(formulas.multipliers) == 1 else f"({multipliers})"
            label = getattr(self._problem.constraints[k], "label", None)
            words = rf" \quad \text{{({escape_words(str(label))})}}" if label else ""
            yield rf"& {formulas.statement} \quad : \; {multipliers}{words}"
        yield from (f"& {domain}" for domain in self._domains())

    def _lagrangian(self) -> Iterator[str]:
        """Yield the objective that is minimized, and the term of each constraint with its sign."""
        objective = self._problem.objective.args[0]
        yield self._typesetter.formula(-objective if self._is_maximized else objective).text
        for k in self._visible:
            if k is None:
                yield r"+ \cdots"
                continue
            sign, formula = self._constraints[k].lagrangian
            is_weak = formula.binding == SUM and sign < 0
            yield f"{'+' if sign > 0 else '-'} {in_brackets(formula.text) if is_weak else formula.text}"

    def _primal(self) -> Iterator[str]:
        for k in self._visible:
            yield r"\vdots" if k is None else self._constraints[k].statement
        yield from self._domains()

    def _dual(self) -> Iterator[str]:
        yield from self._rows_of("dual_condition")

    def _complementarity(self) -> Iterator[str]:
        yield from self._rows_of("complementarity")

    def _rows_of(self, attribute: str) -> Iterator[str]:
        """Yield a condition of each constraint that has it, with dots for those left out."""
        last_is_empty = False
        for k in self._visible:
            if k is None:
                if not last_is_empty:
                    yield r"\vdots"
                continue
            text = getattr(self._constraints[k], attribute)
            last_is_empty = not text
            if text:
                yield text

    def _stationarity(self) -> Iterator[str]:
        """Yield an equation or an inclusion for each group of variables that terms without a gradient join."""
        collector = SlopeCollector(self._typesetter)
        sign = -1.0 if self._is_maximized else 1.0
        collector.add(WeightedTerm(Weight(sign), self._problem.objective.args[0]))
        for k, formulas in self._constraints.items():
            for term in formulas.terms:
                collector.add(WeightedTerm(term.weight, term.expression, k in self._elided))
        for group in _groups(self._variables, collector.slopes):
            yield self._inclusion(group, collector)

    def _inclusion(self, group: Sequence[Any], collector: SlopeCollector) -> str:
        """Return the stationarity of some variables."""
        ids = {variable.id for variable in group}
        kinks = [term for term in collector.slopes.kinks if ids & {v.id for v in term.expression.variables()}]
        slopes = [self._slope(variable, collector.slopes) for variable in group]
        names = ", ".join(self._variable(variable).text for variable in group)
        gradient = slopes[0].text if len(group) == 1 else f"({', '.join(slope.text for slope in slopes)})"
        has_domain = any(self._domain(variable) for variable in group)
        relation = r"\in" if kinks or has_domain else "="
        if not kinks:
            return f"0 {relation} {gradient}"
        terms = [None if term.is_hidden else collector.formula(term) for term in kinks]
        total = sum_with_dots([term for k, term in enumerate(terms) if term is not None or k == 0 or terms[k - 1]])
        subscript = names if len(group) == 1 else f"({names})"
        subgradients = rf"\partial_{{{subscript}}} {in_brackets(total.text)}"
        if all(slope.text == "0" for slope in slopes):
            return f"0 {relation} {subgradients}"
        sign, rest = ("-", gradient[1:]) if gradient.startswith("-") else ("+", gradient)
        return f"0 {relation} {subgradients} {sign} {rest}"

    def _slope(self, variable: Any, slopes: Slopes) -> Formula:
        """Return the gradient in a variable, plus the normal cone of its attributes."""
        terms = list(slopes.gradients.get(variable.id, []))
        domain = self._domain(variable)
        if domain:
            terms.append((1, Formula(f"N_{{{domain}}}({self._variable(variable).text})", PRODUCT)))
        return sum_with_dots(terms)

    def _domains(self) -> Iterator[str]:
        """Yield the sets of variables with attributes."""
        for variable in self._variables:
            domain = self._domain(variable)
            if domain:
                yield rf"{self._variable(variable).text} \in {domain}"

    def _variable(self, variable: Any) -> Formula:
        return self._names.variables[variable.id]

    def _domain(self, variable: Any) -> str:
        """Return the set that the attributes of a variable describe; "" if they describe none."""
        attributes = variable.attributes
        size = r" \times ".join(map(str, variable.shape)) or "1"
        power = f"^{{{size}}}" if variable.shape else ""
        matrix_power = f"^{{{variable.shape[0]}}}" if variable.shape else ""
        sets = {
            **dict.fromkeys(("nonneg", "pos"), rf"\mathbb{{R}}{power}_{{+}}"),
            **dict.fromkeys(("nonpos", "neg"), rf"\mathbb{{R}}{power}_{{-}}"),
            "symmetric": rf"\mathbb{{S}}{matrix_power}",
            "PSD": rf"\mathbb{{S}}{matrix_power}_{{+}}",
            "NSD": rf"\mathbb{{S}}{matrix_power}_{{-}}",
            "diag": rf"\mathbb{{D}}{matrix_power}",
            "sparsity": rf"\mathcal{{P}}_{{{self._variable(variable).text}}}",
        }
        result = [text for attribute, text in sets.items() if self._is_set(attributes.get(attribute))]
        if attributes.get("bounds") is not None:
            sides = [self._bound(side, sign) for side, sign in zip(attributes["bounds"], ("-", ""), strict=True)]
            result.append(f"[{', '.join(sides)}]")
        return r" \cap ".join(dict.fromkeys(result))

    @staticmethod
    def _is_set(value: Any) -> bool:
        """Return whether an attribute is set; a pattern of indices counts."""
        return value is not None and value is not False

    def _bound(self, side: Any, sign: str) -> str:
        """Return a bound of a variable: a number, a name, or what it is."""
        if side is None:
            return rf"{sign}\infty"
        return self._typesetter.formula(_as_expression(side)).text

    def _symbols(self) -> Iterator[tuple[str, str]]:
        """Yield all symbols with their meanings."""
        for variable in self._variables:
            is_symmetric = any(variable.attributes.get(name) for name in ("symmetric", "PSD", "NSD"))
            symmetry = rf", symmetric: in $\mathbb{{S}}^{{{variable.shape[0]}}}$" if is_symmetric else ""
            yield self._variable(variable).text, f"variable in ${_space(variable.shape)}${symmetry}"
        for parameter in self._problem.parameters():
            yield self._names.parameters[parameter.id].text, f"parameter in ${_space(parameter.shape)}$"
        yield from self._data_symbols()
        for k in self._visible:
            if k is not None:
                formulas = self._constraints[k]
                for multiplier, place in zip(formulas.multipliers, formulas.places, strict=True):
                    yield multiplier.text, f"multiplier, `problem.{place}`"
                if weights := weight_symbol(self._problem.constraints[k], k):
                    yield weights[0], f"exponents, `problem.{weights[1]}`"
        for call, value in self._typesetter.meanings():
            yield call, f"${value}$"

    def _data_symbols(self) -> Iterator[tuple[str, str]]:
        """Yield names of data; those of one letter in one row."""
        families: dict[tuple[str, tuple[int, ...]], list[Any]] = {}
        for formula, shape, value in self._names.data.values():
            families.setdefault((formula.text.split("_{")[0], shape), []).append((formula, value))
        for (_, shape), entries in families.items():
            first, last = entries[0][0].text, entries[-1][0].text
            name = first if len(entries) == 1 else rf"{first}, \ldots, {last}"
            value = entries[0][1]
            numbers = ""
            if len(entries) == 1 and value is not None and value.size <= MAX_SHOWN_ENTRIES and value.ndim == 1:
                numbers = f": ({', '.join(f'{entry:.6g}' for entry in value.tolist())})"
            yield name, f"data in ${_space(shape)}${numbers}"


def _as_expression(value: Any) -> Any:
    """Return a value as a CVXPY expression."""
    return value if isinstance(value, cp.Expression) else cp.Constant(value)


def _visible_constraints(constraints: Sequence[Any]) -> tuple[list[int | None], frozenset[int]]:
    """Return the constraints that are shown, None for those left out, and the latter."""
    forms = [(type(c).__name__, getattr(c, "label", None), *map(form_of, c.args)) for c in constraints]
    visible = visible_positions(forms)
    return visible, frozenset(range(len(forms))) - {k for k in visible if k is not None}


def _groups(variables: Sequence[Any], slopes: Slopes) -> list[list[Any]]:
    """Return the variables in groups: those that occur together in a term without a gradient are in one."""
    group_of = {variable.id: {variable.id} for variable in variables}
    for term in slopes.kinks:
        comma_list = set[int]().union(*(group_of[v.id] for v in term.expression.variables()))
        for key in comma_list:
            group_of[key] = comma_list
    groups: dict[frozenset[int], list[Any]] = {}
    for variable in variables:
        groups.setdefault(frozenset(group_of[variable.id]), []).append(variable)
    return list(groups.values())


def _space(shape: tuple[int, ...]) -> str:
    """Return the space of arrays of a shape."""
    size = r" \times ".join(map(str, shape))
    return rf"\mathbb{{R}}^{{{size}}}" if shape else r"\mathbb{R}"


def _problem_rows(statement: Sequence[str]) -> list[str]:
    """Return the rows of a problem, with the words before its first constraint."""
    return [rf"\text{{s.t.}} {row}" if k == 1 else row for k, row in enumerate(statement)]


def _lagrangian_rows(terms: Sequence[str]) -> list[str]:
    """Return the rows of the Lagrangian."""
    return [rf"\mathcal{{L}} = & {terms[0]}", *(f"& {term}" for term in terms[1:])]


def _in_display_style(row: str) -> str:
    """Return a row whose limits stand subscript their signs."""
    if not row:
        return "&"
    first, _, second = row.partition("& ")
    is_sense = first.startswith((r"\min", r"\max"))
    style = r"\displaystyle" if is_sense else ""
    return rf"{style}{first}& \displaystyle {second}"


def _display(rows: Sequence[str]) -> str:
    """Return rows of two columns as a display."""
    body = " \\\\[0.5ex]\n".join(_in_display_style(row) for row in rows)
    return f"$$\n\\begin{{array}}{{ll}}\n{body}\n\\end{{array}}\n$$"
