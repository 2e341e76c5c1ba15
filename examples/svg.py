# SPDX-License-Identifier: BSD-3-Clause
"""Pictures as SVG files, which every browser shows, without any package."""
from xml.sax.saxutils import escape

LEFT, TOP, WIDTH = 190, 64, 980  # where the plot begins, and how wide it is


class Picture:
    """A plot over time. Heights are in pixels below the top of the plot."""

    def __init__(self, title, seconds):
        self.scale = WIDTH / seconds
        self.seconds = seconds
        self.parts = []
        self.text(0, -40, title, size=17, anchor="start")
        self.legend_end = 0

    def x(self, time):
        return LEFT + time * self.scale

    def text(self, x, y, words, size=13, anchor="start", colour="#222"):
        """Pixels from the corner of the plot; `anchor` says which end of the words is there."""
        self.parts.append(f'<text x="{LEFT + x:.1f}" y="{TOP + y:.1f}" font-size="{size}" text-anchor="{anchor}" '
                          f'fill="{colour}">{escape(words)}</text>')

    def legend(self, colour, words):
        self.parts.append(f'<rect x="{LEFT + self.legend_end}" y="{TOP - 24}" width="12" height="12" fill="{colour}"/>')
        self.text(self.legend_end + 17, -13, words)
        self.legend_end += 17 + 7.5 * len(words) + 22

    def label(self, y, words):
        for line, part in enumerate(words.split("\n")):
            self.text(-10, y + 4 + 15 * line, part, anchor="end")

    def bar(self, begin, end, y, height, colour):
        self.parts.append(f'<rect x="{self.x(begin):.2f}" y="{TOP + y:.1f}" width="{max((end - begin) * self.scale, 0.3):.2f}" '
                          f'height="{height:.1f}" fill="{colour}"/>')

    def curve(self, points, y, height, colour):
        """The area below steps: (begin, end, share of the height)."""
        if points:
            bottom = TOP + y + height
            steps = " ".join(f"L{self.x(begin):.2f} {bottom - share * height:.1f} H{self.x(end):.2f}" for begin, end, share in points)
            self.parts.append(f'<path d="M{self.x(points[0][0]):.2f} {bottom} {steps} V{bottom} Z" fill="{colour}"/>')

    def line(self, y, begin=0, end=None, colour="#888"):
        self.parts.append(f'<path d="M{self.x(begin):.1f} {TOP + y:.1f} H{self.x(self.seconds if end is None else end):.1f}" '
                          f'stroke="{colour}" stroke-dasharray="4 3"/>')

    def time_axis(self, y, unit, seconds_per_unit):
        """Ten to twenty marks at round numbers."""
        step = next(s for e in range(-3, 6) for s in (1 * 10**e, 2 * 10**e, 5 * 10**e)
                    if self.seconds / (s * seconds_per_unit) <= 14)
        mark = 0
        while mark * step * seconds_per_unit <= self.seconds:
            x = self.x(mark * step * seconds_per_unit)
            self.parts.append(f'<path d="M{x:.1f} {TOP + y} v6" stroke="#222"/>')
            self.text(x - LEFT, y + 20, f"{mark * step:g}", anchor="middle")
            mark += 1
        self.parts.append(f'<path d="M{LEFT} {TOP + y} h{WIDTH}" stroke="#222"/>')
        self.text(WIDTH, y + 38, f"time in {unit}", anchor="end")
        self.height = TOP + y + 50

    def write(self, path):
        with open(path, "w", encoding="utf-8") as file:
            file.write(f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 30}" height="{self.height}" '
                       f'font-family="sans-serif"><rect width="100%" height="100%" fill="white"/>\n')
            file.write("\n".join(self.parts))
            file.write("\n</svg>\n")


def read_wire(path, begin, end, least=0.0):
    """What scripts/sample-wire wrote, as (begin, end, bytes/s in, bytes/s out); times from `begin`. A step is as long as it takes
    to the next sample that is `least` seconds away."""
    with open(path, encoding="ascii") as file:
        samples = [[float(word) for word in line.split()] for line in file]
    steps, last = [], None
    for now, received, sent in samples:
        if last is not None and now - last[0] < least:
            continue
        if last is not None and now > begin and last[0] < end:
            length = now - last[0]
            steps.append((max(last[0], begin) - begin, min(now, end) - begin,
                          (received - last[1]) / length, (sent - last[2]) / length))
        last = now, received, sent
    return steps
