#!/usr/bin/env python3
"""Runs the command blocks of README.md and docs/*.md as a reader would.

    run_blocks.py [--only sh|python|r|c] [FILE.md ...]

The sh blocks of a file are run in order by one bash in a folder that has only the examples of this
tree, with the built program on PATH; then its python blocks, as one script, by a Python that has the
package; then its r blocks, as one script, by Rscript; c blocks are built against the library and run,
in the frame of c_block.c where they have no main().  A comment on the line before a block changes
that:

    <!-- test: skip REASON -->    not run; REASON is listed at the end
    <!-- test: background -->     left running, once it has said "listening": a server
    <!-- test: exit CODE -->      must end with this exit code
    <!-- test: after sh -->       python that needs files of the sh blocks: --only python runs these too
    <!-- test: prints -->         not a block to run but what the sh block before it prints, but for
                                  blanks, line ends and the order of a json block's members; ...
                                  stands for anything

and one anywhere in a file:

    <!-- test: needs MODULE -->   its blocks need a Python with MODULE

Port 8443 is replaced by a free one.  A block without a language is a mistake, for it may be one that
should be run (but in the tutorial, whose output its own test compares); so is an indented command of
ours.  Links to files of this tree must lead somewhere.

Environment: PRIORBOOST, the program; LIBRARY, the shared library (for C and Python); PYTHON, the
Python to use instead of the one that python/environment.sh makes.  Exit code 0: all ran; 1: something
failed, said on stderr.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(os.environ.get("PRIORBOOST", ROOT / "build/bin/priorboost"))
LIBRARY = pathlib.Path(os.environ.get("LIBRARY", ROOT / "build/lib/libpriorboost.so"))
ELSEWHERE = {("tutorial.md", "python"): "run by python/tests/test_tutorial.py",
             ("spark.md", "python"): "python/tests/spark does this on a real Spark"}
PATIENCE = 300  # seconds for a file; a block that hangs is a failure

failures, skipped = [], []
counts = {"sh": 0, "python": 0, "r": 0, "c": 0}


class Block:
    def __init__(self, path, line, language, directive, text):
        self.path, self.line, self.language, self.text = path, line, language, text
        self.action, _, self.argument = (directive or "").partition(" ")
        self.prints = None  # the block that says so

    def __str__(self):
        return f"{self.path.relative_to(ROOT)}:{self.line}"


def read_blocks(path):
    """The fenced blocks of a file, and what Python modules it needs."""
    blocks, directive, fence = [], None, None
    lines = path.read_text(encoding="utf-8").splitlines()
    needs = [m.group(1) for line in lines if (m := re.match(r"<!-- test: needs (\S+) -->", line))]
    for number, line in enumerate(lines, 1):
        opening = re.match(r"( *)(```+)\s*(\w*)", line)
        if fence is None and opening:
            indent, fence, language = opening.groups()
            start, text = number, []
        elif fence is not None and line.strip() == fence:
            block = Block(path, start, language, directive, "\n".join(text) + "\n")
            if block.action != "prints":
                blocks.append(block)
            elif blocks and blocks[-1].language == "sh":
                blocks[-1].prints = block
            else:
                failures.append(f"{block}: no sh block before it prints anything")
            fence = directive = None
        elif fence is not None:
            text.append(line[len(indent):] if line.startswith(indent) else line)
        elif found := re.match(r"\s*<!-- test: (skip .+|background|exit \d+|prints|after sh) -->", line):
            directive = found.group(1)
        elif re.match(r"\s*<!-- test:(?! needs)", line):
            failures.append(f"{path.relative_to(ROOT)}:{number}: what is this? {line.strip()}")
        elif line.strip():
            directive = None
            if re.match(r"    (priorboost [a-z]+ |\./dev )", line):
                failures.append(f"{path.relative_to(ROOT)}:{number}: a command that is in no block")
    return blocks, needs


def check_links(path):
    """What a page points to in this tree is there."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", line):
            if "://" not in target and not (path.parent / target).exists():
                failures.append(f"{path.relative_to(ROOT)}:{number}: there is no {target}")


def wanted(block):
    """Whether to run it; what is left out is noted."""
    if not block.language and block.path.name != "tutorial.md":
        failures.append(f"{block}: a block of no language; is it sh, python, r, c, json or text?")
    if block.language not in counts:
        return False
    reason = ELSEWHERE.get((block.path.name, block.language))
    if block.action == "skip":
        reason = block.argument
    if reason:
        where = block.path.relative_to(ROOT) if block.action != "skip" else block
        skipped.append(f"{where}: {reason}")
    return reason is None


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def environment():
    env = dict(os.environ, LC_ALL="C.UTF-8", PRIORBOOST_LIBRARY=str(LIBRARY))
    env["PATH"] = f"{PROGRAM.parent}:{env['PATH']}"
    env["PYTHONPATH"] = str(ROOT / "python")
    env["LD_LIBRARY_PATH"] = str(LIBRARY.parent)
    env["PYTHONDONTWRITEBYTECODE"] = "1"
    return env


def find_python(modules, env):
    """The Python of the tests, if it has these modules."""
    python = os.environ.get("PYTHON", str(ROOT / "build/python/env/bin/python"))
    found = shutil.which(python) and subprocess.run(
        [python, "-c", "import " + ", ".join(modules)], env=env, capture_output=True).returncode == 0
    return python if found else None


def bash_script(blocks, port):
    """One script of all blocks, which may go to other folders.  .at says which one is running."""
    parts = ["set -euo pipefail; start=$PWD"]
    for block in blocks:
        text = block.text.replace("8443", str(port))
        parts.append(f"echo {block.line} >$start/.at")
        if block.action == "background":
            parts.append(f"( {text}\n) >.background 2>&1 &\n"
                         "for _ in $(seq 150); do grep -q listening .background && break; sleep 0.1; done\n"
                         "grep -q listening .background || { cat .background; false; }")
        elif block.action == "exit":
            parts.append(f"code=0; ( {text}\n) || code=$?\n"
                         f"[ $code -eq {block.argument} ] || {{ echo exit code $code; false; }}")
        elif block.prints:
            parts.append(f"{{ {text}\n}} >$start/.printed-{block.line}")
        else:
            parts.append(text)
    return "\n".join(parts) + "\n"


def same_json(expected, printed):
    if isinstance(expected, dict) and isinstance(printed, dict):
        return expected.keys() == printed.keys() and all(
            same_json(value, printed[key]) for key, value in expected.items())
    return expected in ("...", printed)


def check_printed(block, folder):
    printed, expected = (folder / f".printed-{block.line}").read_text(), block.prints.text
    if block.prints.language == "json":
        same = same_json(json.loads(expected), json.loads(printed))
    else:
        pattern = ".*".join(re.escape("".join(part.split())) for part in expected.split("..."))
        same = re.fullmatch(pattern, "".join(printed.split()))
    if not same:
        failures.append(f"{block.prints}: {block} prints something else:\n{printed}")


def run(command, folder, env):
    """Runs it with all that it starts in one group, which is ended with it.  Returns code, output."""
    with open(folder / ".output", "w+b") as output:
        process = subprocess.Popen(command, cwd=folder, env=env, stdin=subprocess.DEVNULL,
                                   stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            code = process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            code = "none: it took too long"
        try:
            os.killpg(process.pid, signal.SIGTERM)
        except ProcessLookupError:
            pass
        process.wait()
        output.seek(0)
        return code, output.read().decode(errors="replace")


def complain(where, code, output):
    failures.append(f"{where}: exit code {code}\n" + "\n".join(output.splitlines()[-25:]))


def run_r(blocks, folder, env):
    """One script of all r blocks; what R or Python lacks is said, and nothing is installed."""
    python = find_python(["priorboost", "pandas"], env)
    packages = "for (p in c('jsonlite', 'reticulate')) if (!requireNamespace(p, quietly = TRUE)) quit(status = 1)"
    has_r = shutil.which("Rscript") and subprocess.run(
        ["Rscript", "-e", packages], env=env, capture_output=True).returncode == 0
    if not has_r or python is None:
        what = "Python with pandas (python/environment.sh)" if has_r else (
            "Rscript with jsonlite and reticulate (Debian: r-base-core r-cran-jsonlite r-cran-reticulate)")
        skipped.extend(f"{b}: there is no {what}" for b in blocks)
        return
    (folder / ".script.R").write_text("\n".join(b.text for b in blocks))
    code, output = run(["Rscript", ".script.R"], folder, {**env, "RETICULATE_PYTHON": python})
    if code != 0:
        complain(f"{blocks[0]} and the r blocks after it", code, output)
    counts["r"] += len(blocks)


def run_file(path, only):
    blocks, needs = read_blocks(path)
    languages = {only} | {"sh" for b in blocks if b.action == "after" and b.language == only}
    todo = [b for b in blocks if (only is None or b.language in languages) and wanted(b)]
    shell, python, r, c = ([b for b in todo if b.language == k] for k in counts)
    if not todo:
        return
    env = environment()
    if needs:
        found = find_python(needs, env)
        if found is None:
            skipped.append(f"{path.relative_to(ROOT)}: there is no Python with {', '.join(needs)}"
                           " (python/environment.sh)")
            return
        env["PATH"] = f"{env['PATH'].partition(':')[0]}:{pathlib.Path(found).parent}:{env['PATH']}"
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "examples").symlink_to(ROOT / "examples")
        if shell:
            (folder / ".script").write_text(bash_script(shell, free_port()))
            code, output = run(["bash", ".script"], folder, env)
            if code != 0:
                at = (folder / ".at").read_text().strip()
                complain(f"{path.relative_to(ROOT)}:{at}", code, output)
            for block in shell if code == 0 else ():
                if block.prints:
                    check_printed(block, folder)
            counts["sh"] += len(shell)
        if python:
            chosen = find_python(["priorboost", "sklearn", *needs], env)
            if chosen is None:
                skipped.extend(f"{b}: there is no Python with NumPy and scikit-learn (python/environment.sh)"
                               for b in python)
            else:
                (folder / ".script.py").write_text("\n".join(b.text for b in python))
                code, output = run([chosen, ".script.py"], folder, env)
                if code != 0:
                    complain(f"{python[0]} and the Python blocks after it", code, output)
                counts["python"] += len(python)
        if r:
            run_r(r, folder, env)
        for block in c:
            frame = (ROOT / "tests/docs/c_block.c").read_text()
            whole = "main(" in block.text
            (folder / "block.c").write_text(block.text if whole else frame.replace("BLOCK", block.text))
            code, output = run(["sh", "-c", f"cc -std=c17 -Wall -Werror block.c -I{ROOT}/include "
                                f"-L{LIBRARY.parent} -lpriorboost -lm -o block && ./block"], folder, env)
            if code != 0:
                complain(block, code, output)
            counts["c"] += 1


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", type=pathlib.Path, nargs="*")
    parser.add_argument("--only", choices=list(counts))
    arguments = parser.parse_args()
    files = arguments.files or [*(ROOT / f"{name}.md" for name in (
                                    "README", "SECURITY", "ARCHITECTURE", "CONTRIBUTING", "examples/README")),
                                *sorted((ROOT / "docs").glob("*.md"))]
    for path in files:
        began, before = time.monotonic(), sum(counts.values())
        check_links(path.resolve())
        run_file(path.resolve(), arguments.only)
        if ran := sum(counts.values()) - before:
            print(f"{path.name}: {ran} blocks, {time.monotonic() - began:.1f} s", flush=True)
    for line in sorted(set(skipped)):
        print(f"not run: {line}")
    for line in failures:
        print(f"run_blocks.py: {line}", file=sys.stderr)
    print(", ".join(f"{n} {k}" for k, n in counts.items()) + f" blocks run, {len(skipped)} not")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
