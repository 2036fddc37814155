"""Line charts with logarithmic axes as self-contained SVG."""

import math
from html import escape

WIDTH, HEIGHT = 560, 340
LEFT, RIGHT, TOP, BOTTOM = 64, 150, 34, 46
COLOURS = ["#0b6e99", "#c2571a", "#4a7d2c", "#8a4fa3", "#777777", "#b5406b"]


def decades(low, high):
    return range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)


def axis_ends(values):
    """Whole decades, at least one."""
    low, high = min(values), max(values)
    ends = decades(low, high)
    return 10.0 ** ends[0], 10.0 ** max(ends[-1], ends[0] + 1)


def short(value):
    if value >= 1000 or value < 0.01:
        power = round(math.log10(value))
        return f"1e{power}"
    return f"{value:g}"


def log_chart(title, x_name, y_name, series):
    """series: {name: [(x, y), ...]}."""
    xs = [x for points in series.values() for x, _ in points]
    ys = [y for points in series.values() for _, y in points]
    x_low, x_high = min(xs), max(xs)
    y_low, y_high = axis_ends(ys)

    def px(x):
        return LEFT + (WIDTH - LEFT - RIGHT) * math.log(x / x_low) / math.log(x_high / x_low)

    def py(y):
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * math.log(y / y_low) / math.log(
            y_high / y_low)

    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'width="{WIDTH}" height="{HEIGHT}" font-family="sans-serif" font-size="12" role="img">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        f'<text x="{LEFT}" y="20" font-size="14" fill="#222">{escape(title)}</text>',
    ]
    for power in decades(y_low, y_high):
        y = 10.0**power
        if y_low <= y <= y_high:
            out.append(f'<path d="M{LEFT} {py(y):.1f}H{WIDTH - RIGHT}" stroke="#ddd"/>')
            out.append(f'<text x="{LEFT - 6}" y="{py(y) + 4:.1f}" text-anchor="end" '
                       f'fill="#444">{short(y)}</text>')
    for x in sorted(set(xs)):
        out.append(f'<path d="M{px(x):.1f} {HEIGHT - BOTTOM}v4" stroke="#888"/>')
        out.append(f'<text x="{px(x):.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle" '
                   f'font-size="10" fill="#444">{tick(x)}</text>')
    out.append(f'<path d="M{LEFT} {TOP}V{HEIGHT - BOTTOM}H{WIDTH - RIGHT}" fill="none" '
               'stroke="#888"/>')
    out.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 8}" text-anchor="middle" '
               f'fill="#222">{escape(x_name)}</text>')
    middle = (TOP + HEIGHT - BOTTOM) / 2
    out.append(f'<text x="14" y="{middle}" text-anchor="middle" fill="#222" '
               f'transform="rotate(-90 14 {middle})">{escape(y_name)}</text>')
    out += lines(series, px, py)
    return "\n".join([*out, "</svg>", ""])


def tick(x):
    digits, exponent = f"{x:e}".split("e")
    if x >= 1000 and float(digits).is_integer():
        return f"{float(digits):g}e{int(exponent)}"
    return f"{x:g}" if x < 10000 else f"{x / 1000:g}k"


def lines(series, px, py):
    """Polylines, points, and names at the right that keep clear of each other."""
    out, label_y = [], []
    order = sorted(series.items(), key=lambda item: py(sorted(item[1])[-1][1]))
    for name, points in order:
        colour = COLOURS[list(series).index(name) % len(COLOURS)]
        points = sorted(points)
        path = " ".join(f"{px(x):.1f},{py(y):.1f}" for x, y in points)
        out.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        out += [f'<circle cx="{px(x):.1f}" cy="{py(y):.1f}" r="2.5" fill="{colour}"/>'
                for x, y in points]
        y = max([py(points[-1][1]) + 4, *(v + 14 for v in label_y)])
        label_y.append(y)
        out.append(f'<text x="{WIDTH - RIGHT + 8}" y="{y:.1f}" fill="{colour}">'
                   f"{escape(name)}</text>")
    return out
