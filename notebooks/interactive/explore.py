"""Move nu, eta and the regularizer, and watch the weights, the margins and the certified interval.

    marimo run notebooks/interactive/explore.py     # sliders, in a browser
    marimo edit notebooks/interactive/explore.py    # the same, with the code
    python notebooks/interactive/explore.py --regularizer "Hellinger" --nu 0.2 --eta 50

It needs `pip install "boostopt[interactive]"`.
"""

import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="Regularizers of boosting")

with app.setup:
    import io
    import time
    from collections.abc import Callable, Mapping
    from typing import Any

    import marimo as mo
    import numpy as np
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from PIL import Image
    from sklearn.metrics.pairwise import rbf_kernel

    from boostopt import Solution, instances, pictures
    from boostopt.authoring import (
        COUNT,
        POSITIVE,
        BinaryEntropy,
        CappedSimplex,
        CappedSimplexIndicator,
        Formulation,
        PowerDivergence,
        Regularizer,
        RelativeEntropy,
        parameter,
        prototype,
    )

    KERNELS = 40
    """The number of kernel columns. The hypotheses are these columns and their negations."""

    ETAS = [1, 2, 3, 5, 10, 20, 30, 50, 100, 200, 300, 500, 1000]
    GAPS = [1e-1, 3e-2, 1e-2, 1e-3, 1e-4, 1e-6, 1e-8]

    CAP = "Cap alone (LPBoost)"

    def divergence(q: float) -> Callable[[Any, float, float], Regularizer]:
        """Return a function that makes the power divergence of an order."""
        return lambda c, nu, eta: PowerDivergence(CappedSimplex(c, nu), q, eta)

    REGULARIZERS: Mapping[str, Callable[[Any, float, float], Regularizer]] = {
        CAP: lambda c, nu, eta: CappedSimplexIndicator(CappedSimplex(c, nu)),
        "Relative entropy (ERLPBoost)": lambda c, nu, eta: RelativeEntropy.capped(c, nu, eta, c / c.sum()),
        "Binary entropy (Binary ERLPBoost)": lambda c, nu, eta: BinaryEntropy.capped(c, nu, eta, c / c.sum()),
        "Squares, Pearson's chi-square": divergence(2.0),
        "Tsallis entropy of order 3/2": divergence(1.5),
        "Hellinger's distance": divergence(0.5),
        "Burg's entropy, a barrier": divergence(0.0),
        "Neyman's chi-square": divergence(-1.0),
    }


@app.function
def margin_matrix() -> np.ndarray:
    """Return the margins of kernel columns and their negations on two arcs with a tenth of wrong labels."""
    data = instances.banana(300, noise=0.1, random_state=0)
    kernels = rbf_kernel(data.X, data.X[:KERNELS], gamma=4.0)
    return data.y[:, np.newaxis] * np.hstack([kernels, -kernels])


@app.function
def page(name: str) -> Formulation[Any]:
    """Return the formulation with this regularizer and the largest edge."""
    return prototype(
        name,
        lambda p, examples: REGULARIZERS[name](examples.c, p.nu, p.eta),
        nu=parameter("the least number of examples that share the weight", COUNT),
        eta=parameter("the inverse strength of the regularizer", POSITIVE),
    )


@app.function
def solved(name: str, U: Any, share: float, eta: float, tol: float) -> Solution:
    """Solve the program to a gap; share is nu as a share of the examples."""
    return page(name).bind(U, nu=max(1.0, share * len(U)), eta=eta).solve(tol=tol)


@app.function
def on_three(name: str, share: float, eta: float) -> Regularizer:
    """Return the regularizer on three examples; nu is the same share of them."""
    return REGULARIZERS[name](np.ones(3), max(1.0, 3.0 * share), eta)


@app.class_definition
class Stage:
    """Three panels. Their frames are drawn once, and each new picture is drawn on a copy of the frames."""

    looks = ((0.0, "#000000", "this regularizer"), (1.0, "#d55e00", "the cap alone"))

    def __init__(self, best: float) -> None:
        self.best = best
        self.figure = Figure(figsize=(11.5, 3.5), dpi=90)
        self.canvas = FigureCanvasAgg(self.figure)
        self.axes = self.figure.subplots(1, 3, width_ratios=(1.0, 1.3, 1.0))
        triangle, distribution, interval = self.axes
        triangle.set(aspect="equal", xlim=(-0.1, 1.1), ylim=(-0.12, 0.98), title="weights of three examples")
        triangle.axis("off")
        distribution.set(xlim=(-0.4, 0.4), ylim=(-0.02, 1.02), title="margins")
        distribution.set(xlabel="margin", ylabel="share of the examples below")
        interval.set(xlim=(0, best), ylim=(-0.5, 1.7), yticks=[], xlabel="value")
        interval.set_title("certified intervals of the optima")
        for y, color, name in self.looks:
            interval.text(0.02 * best, y + 0.25, name, color=color)
        self.figure.subplots_adjust(left=0.0, right=0.98, bottom=0.15, top=0.9, wspace=0.25)
        self.canvas.draw()
        self.empty = self.canvas.copy_from_bbox(self.figure.bbox)

    def png(self, F: Regularizer, this: Solution, cap: Solution) -> bytes:
        """Return the picture of a regularizer on three examples, and of two solutions."""
        triangle, distribution, interval = self.axes
        before = [set(axis.get_children()) for axis in self.axes]
        pictures.weights_on_triangle(F, axes=triangle)
        margins = {label: one.program.margins.margins(one.w) for label, one in (("this", this), ("cap", cap))}
        pictures.margin_distributions(margins, nu=this.program.parameters.nu, axes=distribution)
        for one, (y, color, _) in zip((this, cap), self.looks, strict=True):
            ends = (max(one.certificate.lower, 0.0), min(one.certificate.upper, self.best))
            interval.plot(ends, (y, y), color=color, marker="|", ms=16, mew=1.5, lw=5, solid_capstyle="butt")
        self.canvas.restore_region(self.empty)
        for axis, old in zip(self.axes, before, strict=True):
            new = [artist for artist in axis.get_children() if artist not in old]
            for artist in sorted(new, key=lambda artist: artist.zorder):
                axis.draw_artist(artist)
                artist.remove()
        buffer = io.BytesIO()
        image = Image.fromarray(np.asarray(self.canvas.buffer_rgba())).convert("RGB")
        image.save(buffer, format="png", compress_level=1)
        return buffer.getvalue()


@app.cell
def _():
    mo.md(r"""
    # Regularizers of boosting

    Boosting solves $\min_d F(d) + \max_q (U^\top d)_q$ over the weights $d$ of the examples. Move $\nu$, $\eta$ and the
    regularizer $F$. The examples are 300 points in two arcs, and a tenth of the labels is wrong. The hypotheses are 40
    kernel columns and their negations.
    """)
    return


@app.cell
def _():
    given = mo.cli_args()
    which = mo.ui.dropdown(
        list(REGULARIZERS), value=given.get("regularizer") or "Relative entropy (ERLPBoost)", label="regularizer"
    )
    nu = mo.ui.slider(0.02, 0.98, 0.02, value=float(given.get("nu") or 0.5), label=r"$\nu / N$", show_value=True)
    eta = mo.ui.slider(steps=ETAS, value=float(given.get("eta") or 20), label=r"$\eta$", show_value=True)
    gap = mo.ui.slider(steps=GAPS, value=float(given.get("gap") or 1e-3), label="gap asked for", show_value=True)
    mo.hstack([which, nu, eta, gap], justify="start", gap=2, wrap=True)
    return eta, gap, nu, which


@app.cell
def _(eta, gap, nu, which):
    chosen = {"name": which.value, "share": nu.value, "eta": eta.value, "tol": gap.value}
    return (chosen,)


@app.cell
def _():
    U = margin_matrix()
    return (U,)


@app.cell
def _(U, chosen):
    start = time.perf_counter()
    solution = solved(chosen["name"], U, chosen["share"], chosen["eta"], chosen["tol"])
    seconds = time.perf_counter() - start
    return seconds, solution


@app.cell
def _(U, chosen):
    cap = solved(CAP, U, chosen["share"], 1.0, 1e-8)
    return (cap,)


@app.cell
def _(U):
    # No optimum is larger than the largest edge of equal weights, where F is 0.
    stage = Stage(best=float(U.mean(axis=0).max()))
    return (stage,)


@app.cell
def _(cap, chosen, solution, stage):
    picture = stage.png(on_three(chosen["name"], chosen["share"], chosen["eta"]), solution, cap)
    mo.image(picture, width=1000, alt="A triangle of weights, margin distributions and certified intervals.")
    return (picture,)


@app.cell
def _(seconds, solution):
    certificate = solution.certificate
    said = (
        # All digits: rounded ones would be no bounds.
        f"The optimum lies in [{certificate.lower!r}, {certificate.upper!r}]: the gap is {certificate.gap:.1e}, "
        f"proved from the answer of {solution.backend} in {1e3 * seconds:.0f} ms."
    )
    if not mo.running_in_notebook():
        print(said)
    mo.md(said)
    return (said,)


@app.cell
def _():
    mo.md(r"""
    **The triangle** shows $d$ for three examples. The middle belongs to equal margins. Along each line the differences
    of the margins grow, with a dot for each tenth. The shades are the levels of $F$, and the outline is the cap
    $1/\nu$. A small $\eta$ keeps the weights near the middle, and a large $\eta$ lets them go to the cap.

    **The margins** are the margins of the optimal combination. The margins of LPBoost are orange. LPBoost has the
    largest soft margin.

    **The intervals** contain the optima, whatever the solver did. Choose a rough gap to see how wide they become.
    """)
    return


if __name__ == "__main__":
    app.run()
