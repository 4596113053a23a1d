"""Comparisons as one page of HTML: formulation, data, certified intervals, tables, profiles, logs, provenance.

report
    Write the page of a comparison or a benchmark.
to_html
    Return it as text.

The page needs no other file, no script and no network. Making it needs Jinja, latex2mathml and matplotlib:
`pip install "boostopt[report]"`.
"""

from boostopt.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
