"""The picture of the rooms of the package: a box for each room, on its floor, with the imports between rooms.

    python tools/draw_rooms.py      writes docs/images/rooms.svg

An arrow from a room to a lower one says that the first imports the second. Imports that follow from others are left
out: if A imports B, and B imports C, no arrow leads from A to C. A permitted import of a higher room is dashed.
"""

from __future__ import annotations

import html
from pathlib import Path

from package_rooms import FLOORS, ROOT, UPWARD_IMPORTS, room_imports, room_of, without_implied

PICTURE = Path(__file__).resolve().parents[1] / "docs" / "images" / "rooms.svg"

WIDTH, BOX_WIDTH, BOX_HEIGHT, FLOOR_HEIGHT, MARGIN = 860, 150, 30, 68, 26
"""Sizes in pixels."""

N_SWEEPS = 24
"""The number of sweeps that order the rooms of each floor by the middle of their neighbours."""


def order_rooms(edges: dict[str, set[str]]) -> list[list[str]]:
    """Return the rooms of each floor, from the bottom to the top, in an order with few crossings (barycentres)."""
    floors = [sorted(floor) for floor in FLOORS[:-1]]
    neighbours = {room: set(lower) for room, lower in edges.items()}
    for room, lower in edges.items():
        for neighbour in lower:
            neighbours.setdefault(neighbour, set()).add(room)
    place = {room: k - (len(floor) - 1) / 2 for floor in floors for k, room in enumerate(floor)}
    for sweep in range(N_SWEEPS):
        for floor in floors if sweep % 2 else floors[::-1]:
            middle = {
                room: sum(place[neighbour] for neighbour in neighbours[room]) / len(neighbours[room])
                if neighbours.get(room)
                else place[room]
                for room in floor
            }
            floor.sort(key=lambda room: (middle[room], room))
            place |= {room: k - (len(floor) - 1) / 2 for k, room in enumerate(floor)}
    return floors


def draw() -> str:
    """Return the picture as SVG."""
    graph = room_imports()
    pairs = {(room_of(ROOT / file), target) for file, target in UPWARD_IMPORTS.items()}
    upward = {(room, target) for room, target in pairs if target in graph.get(room, ())}
    edges = without_implied(
        {room: {target for target in lower if (room, target) not in upward} for room, lower in graph.items()}
    )
    floors = order_rooms(edges)
    height = 2 * MARGIN + (len(floors) - 1) * FLOOR_HEIGHT + BOX_HEIGHT
    centre: dict[str, tuple[float, float]] = {}
    for k, floor in enumerate(floors):
        gap = (WIDTH - 60) / len(floor)
        for j, room in enumerate(floor):
            shift = 110 * ((k % 2) - 0.5) if len(floor) == 1 else 0.0  # arrows to farther floors pass beside the box
            centre[room] = (60 + gap * (j + 0.5) + shift, height - MARGIN - BOX_HEIGHT / 2 - k * FLOOR_HEIGHT)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" role="img">',
        "<title>The rooms of boostopt on their floors, and the imports between them</title>",
        '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6" markerHeight="6" orient="auto">'
        '<path d="M0,0 L8,4 L0,8 z" fill="#5b6b7f"/></marker></defs>',
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
    ]
    for k in range(len(floors)):
        y = height - MARGIN - BOX_HEIGHT / 2 - k * FLOOR_HEIGHT
        lines.append(f'<text x="16" y="{y + 4:.0f}" font-size="12" fill="#8a94a3">{k}</text>')
    pairs = sorted({(room, target) for room, lower in edges.items() for target in lower} | upward)
    for room, target in pairs:
        start = _port(centre, room, [b for a, b in pairs if a == room], target)
        end = _port(centre, target, [a for a, b in pairs if b == target], room)
        lines.append(_arrow(start, end, ' stroke-dasharray="5 4"' if (room, target) in upward else ""))
    for room, (x, y) in sorted(centre.items()):
        lines.append(
            f'<rect x="{x - BOX_WIDTH / 2:.1f}" y="{y - BOX_HEIGHT / 2:.1f}" width="{BOX_WIDTH}" height="{BOX_HEIGHT}" '
            'rx="5" fill="#eef3f9" stroke="#34608f"/>'
            f'<text x="{x:.1f}" y="{y + 4.5:.1f}" font-size="13" text-anchor="middle" fill="#16293d">'
            f"{html.escape(room)}</text>"
        )
    return "\n".join([*lines, "</svg>", ""])


def _port(centre: dict[str, tuple[float, float]], room: str, targets: list[str], target: str) -> tuple[float, float]:
    """Return the point of a room for its arrow to or from `target`: the arrows are spread over the width of the box."""
    x, y = centre[room]
    k = sorted(targets, key=lambda name: (centre[name][0], name)).index(target)
    return x + 0.7 * BOX_WIDTH * ((k + 0.5) / len(targets) - 0.5), y


def _arrow(start: tuple[float, float], end: tuple[float, float], style: str) -> str:
    """Return an arrow between two boxes, from the edge of the first to the edge of the second."""
    (x, y), (u, v) = start, end
    side = 1.0 if v > y else -1.0
    y, v = y + side * BOX_HEIGHT / 2, v - side * BOX_HEIGHT / 2
    bend = side * max(0.45 * abs(v - y), 12.0)
    path = f"M{x:.1f},{y:.1f} C{x:.1f},{y + bend:.1f} {u:.1f},{v - bend:.1f} {u:.1f},{v:.1f}"
    return f'<path d="{path}" fill="none" stroke="#5b6b7f" stroke-opacity="0.75"{style} marker-end="url(#head)"/>'


def main() -> None:
    """Write the picture."""
    PICTURE.write_text(draw())


if __name__ == "__main__":
    main()
