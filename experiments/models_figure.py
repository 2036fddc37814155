#!/usr/bin/env python3
"""Draws what models.py printed, a row for each table: experiments/models_figure.py EXACT NOISY > docs/figures/models.svg

EXACT and NOISY are files with the output of `models.py --model glm --model auto` without noise and with --epsilon 1.
"""

import json
import statistics
import sys
from pathlib import Path

LEFT, RIGHT, TOP, ROW, WIDTH = 150, 30, 66, 17, 760
STYLE = """text { font: 12px sans-serif; fill: #222 } .small { font-size: 11px; fill: #666 } .grid { stroke: #ddd }
.range { stroke: #ccc; stroke-width: 2 } .glm { fill: #fff; stroke: #666; stroke-width: 1.5 } .noisy { fill: #f2a541 }
.auto { fill: #c0392b } .mean { font-weight: bold }
@media (prefers-color-scheme: dark) { text { fill: #ddd } .small { fill: #aaa } .grid { stroke: #444 }
.range { stroke: #666 } .glm { fill: #222; stroke: #bbb } }"""
SERIES = (("glm", "straight line (GLM), bags of 32"), ("noisy", "auto, bags of 32, ε = 1"), ("auto", "auto, bags of 32"))


def medians(path):
    lines = [json.loads(line) for line in Path(path).read_text().splitlines()]
    return {line["table"]: line["median"] for line in lines if "median" in line}


def rows(exact, noisy):
    """Name and shares in percent, the best table first, the mean of all last."""
    found = [(name, {"glm": 100 * m["glm"], "auto": 100 * m["auto"], "noisy": 100 * noisy[name]["auto"]})
             for name, m in exact.items() if name in noisy]
    found.sort(key=lambda row: -row[1]["auto"])
    mean = {key: statistics.fmean(share[key] for _, share in found) for key, _ in SERIES}
    return [*found, ("mean", mean)]


def draw(table):
    def x(share):
        return LEFT + share / 100 * (WIDTH - LEFT - RIGHT)

    bottom = TOP + ROW * len(table)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom + 40}" role="img">', f"<style>{STYLE}</style>",
           '<text x="10" y="18" class="mean">Explained by models that saw only the means of bags, real tables</text>']
    at = 10
    for key, words in SERIES:
        out += [f'<circle class="{key}" cx="{at + 5}" cy="36" r="5"/>', f'<text x="{at + 15}" y="40">{words}</text>']
        at += 30 + 6.6 * len(words)
    for share in range(0, 101, 20):
        out += [f'<line class="grid" x1="{x(share):.1f}" x2="{x(share):.1f}" y1="{TOP - 10}" y2="{bottom}"/>',
                f'<text class="small" text-anchor="middle" x="{x(share):.1f}" y="{bottom + 16}">{share} %</text>']
    out.append(f'<text class="small" text-anchor="middle" x="{x(50):.1f}" y="{bottom + 33}">'
               "0 %: a constant; 100 %: LightGBM with every label</text>")
    for i, (name, share) in enumerate(table):
        y, last = TOP + ROW * i + 4, i == len(table) - 1
        low, high = min(share.values()), max(share.values())
        out += [f'<text text-anchor="end" x="{LEFT - 12}" y="{y + 4}"{" class=" + chr(34) + "mean" + chr(34) if last else ""}>'
                f'{name.replace("_", " ")}</text>',
                f'<line class="range" x1="{x(low):.1f}" x2="{x(high):.1f}" y1="{y}" y2="{y}"/>']
        out += [f'<circle class="{key}" cx="{x(share[key]):.1f}" cy="{y}" r="5"/>' for key, _ in SERIES]
    return "\n".join([*out, "</svg>"])


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    print(draw(rows(medians(sys.argv[1]), medians(sys.argv[2]))))
