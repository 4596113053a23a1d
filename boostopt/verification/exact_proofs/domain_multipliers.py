"""Multipliers of constraints that the domains of atoms imply, as slopes of the atoms.

A file states no such constraints. A multiplier of u >= 0 lowers the slope of the argument u, also of an atom without a
multiplier: the checker bounds what is left over the domain.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from boostopt.problem_certificates.faces.domain_constraints import ProblemWithDomains, with_domains
from boostopt.problem_certificates.problem_reader import ReadProblem
from boostopt.verification.exact_proofs.exact_multipliers import combined
from boostopt.verification.problem_kernel.problem_schema import AtomNode, Multipliers, Problem, Rows


@dataclass(frozen=True)
class StatedProblemWithDomains:
    """A problem with constraints that the domains of its atoms imply, as it was read and as the checker reads it.

    Attributes
    ----------
    read, problem
        Both.
    domains
        Where the constraints come from.
    """

    read: ReadProblem
    problem: Problem
    domains: ProblemWithDomains

    def split(self, multipliers: Multipliers, problem: Problem) -> Multipliers:
        """Return multipliers of this problem as multipliers of the problem as it is written."""
        n_rows, n_matrices = len(problem.inequalities), len(problem.matrices)
        slopes = [list(numbers) for numbers in multipliers.slopes]
        for ((index, k, i), _), value in zip(self.domains.rows, multipliers.inequalities[n_rows:], strict=True):
            slopes[index][_start(problem.nodes[index], k) + i] -= value
        for (index, k), Z in zip(self.domains.matrices, multipliers.matrices[n_matrices:], strict=True):
            end = _start(problem.nodes[index], k + 1)  # the matrix has the last arguments
            for place, value in enumerate(Z, end - len(Z)):
                slopes[index][place] -= value
        return replace(
            multipliers,
            inequalities=multipliers.inequalities[:n_rows],
            matrices=multipliers.matrices[:n_matrices],
            slopes=slopes,
        )


def with_stated_domains(read: ReadProblem, problem: Problem) -> StatedProblemWithDomains | None:
    """Return a problem with what the domains of its atoms imply; None if they imply nothing for affine arguments."""
    domains = with_domains(read)
    if domains is None:
        return None
    rows, offsets = list(problem.inequalities.rows), list(problem.inequalities.offsets)
    for (index, k, i), limit in domains.rows:
        node = problem.nodes[index]
        place = node.members[k][i]
        rows.append({j: -value for j, value in node.arguments.rows[place].items()})
        offsets.append(Fraction(limit) - node.arguments.offsets[place])
    matrices = list(problem.matrices)
    for (index, k), item in zip(domains.matrices, domains.read.matrices[len(matrices) :], strict=True):
        node, size = problem.nodes[index], item.n
        places = node.members[k][-size * size :]
        half = Fraction(1, 2)
        entries, constants = list[dict[int, Fraction]](), list[Fraction]()
        for i in range(size):
            for j in range(size):
                pair = places[i * size + j], places[j * size + i]
                entries.append(combined([(half, node.arguments.rows[place]) for place in pair]))
                constants.append(half * sum((node.arguments.offsets[place] for place in pair), Fraction(0)))
        matrices.append((size, Rows(entries, constants)))
    return StatedProblemWithDomains(
        domains.read, replace(problem, inequalities=Rows(rows, offsets), matrices=matrices), domains
    )


def _start(node: AtomNode, k: int) -> int:
    """Return the number of arguments of the groups before group k."""
    return sum(map(len, node.members[:k]))
