"""Comparisons as one HTML page: formulation, data, certified intervals, tables, profiles, logs, provenance.

report
    Write the page of a comparison or a benchmark.
to_html
    Return the page as text.

The page needs no other file, no script and no network. Reports need Jinja, latex2mathml and matplotlib:
`pip install "boostopt[report]"`.
"""

from boostopt._utils.lazy_names import attach

__getattr__, __dir__, __all__ = attach(__name__)
