"""The Python reference as one page, from the docstrings: build_reference.py OUT.html."""

import html
import inspect
import pathlib
import sys

import priorboost as pb

STYLE = """body { font: 16px/1.5 system-ui, sans-serif; max-width: 52rem; margin: 2rem auto;
    padding: 0 1rem; overflow-wrap: anywhere; }
pre { white-space: pre-wrap; font: 14px/1.45 ui-monospace, monospace; }
h2, h3 { font-family: ui-monospace, monospace; }
h2 { border-top: 1px solid #ccc; padding-top: 1rem; font-size: 1.05rem; }
h3 { font-size: .95rem; margin-left: 1rem; }
section section pre { margin-left: 1rem; } nav { columns: 3 12rem; }
@media (prefers-color-scheme: dark) {
    body { background: #161616; color: #ddd; } a { color: #8ab4f8; }
}"""


def signature(name, thing):
    """The name as it is called; types are in the docstring, in words."""
    try:
        called = inspect.signature(thing)
    except (TypeError, ValueError):
        return name
    plain = [p.replace(annotation=p.empty) for p in called.parameters.values() if p.name != "self"]
    return f"{name}{called.replace(parameters=plain, return_annotation=called.empty)}"


def members(cls):
    """Public methods and properties that this package defines."""
    for name, member in inspect.getmembers(cls):
        home = getattr(member, "__module__", None) or getattr(
            getattr(member, "fget", None), "__module__", ""
        )
        documented = inspect.isfunction(member) or isinstance(member, property)
        if not name.startswith("_") and documented and (home or "").startswith("priorboost"):
            yield name, member


def entry(name, thing, level, missing):
    """One heading and its docstring; members of a class below it."""
    text = inspect.getdoc(thing) or ""
    if not text:
        missing.append(name)
    shown = name if isinstance(thing, property) else signature(name, thing)
    out = [f'<section><h{level} id="{html.escape(name)}">{html.escape(shown)}</h{level}>']
    out.append(f"<pre>{html.escape(text)}</pre>")
    if inspect.isclass(thing):
        out += [entry(f"{name}.{m}", member, 3, missing) for m, member in members(thing)]
    return "\n".join(out) + "</section>"


def main():
    """Writes the page; a public name without a docstring is an error."""
    missing: list[str] = []
    body = [entry(name, getattr(pb, name), 2, missing) for name in sorted(pb.__all__)]
    links = " ".join(f'<a href="#{n}">{n}</a><br>' for n in sorted(pb.__all__))
    page = f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<title>priorboost {pb.__version__}: Python reference</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><style>{STYLE}</style></head>
<body><h1>priorboost {pb.__version__} for Python</h1>
<pre>{html.escape(pb.__doc__ or "")}</pre><nav>{links}</nav>
{"".join(body)}</body></html>
"""
    pathlib.Path(sys.argv[1]).write_text(page, encoding="utf-8")
    if missing:
        sys.exit(f"no docstring: {', '.join(missing)}")


if __name__ == "__main__":
    main()
