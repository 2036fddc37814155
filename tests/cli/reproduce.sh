#!/usr/bin/env bash
# The paper's experiments in one command: what it writes, what it refuses.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

quick=(--rows 8192 --sizes 2048,4096,8192 --test-rows 4096 --rounds 8 --features 4 --min-bags 1,4,16
    --epsilons 0.1,1,inf --realizations 2 --seed 7)

# ---- everything, into an empty folder that exists ----
mkdir run
expect 0 priorboost reproduce all "${quick[@]}" --out run
printed "run/report.html"
printed "OneShot's test loss gets worse as k increases."
for file in linear logistic privacy bag-size theory; do
    [ -s run/$file.csv ] && [ -s run/$file.svg ] || fail "$file.csv or $file.svg is missing"
done
[ -s run/report.html ] || fail "report.html is missing"
python3 - <<'PY' || fail "results.json or report.html"
import json, math, re
r = json.load(open("run/results.json"))
for name, axis, algorithms, points in (
    ("linear", "step", {"priorboost", "oneshot", "pbprefix"}, list(range(1, 9))),
    ("logistic", "step", {"priorboost", "oneshot", "pbprefix"}, list(range(1, 9))),
    ("privacy", "epsilon", {"priorboost", "oneshot"}, [0.1, 1, "inf"]),
    ("bag-size", "n", {"priorboost"}, [2048, 4096, 8192]),
):
    rows = r[name]
    assert {(x["algorithm"], x["k"], x[axis]) for x in rows} == {(a, k, p) for a in algorithms for k in (1, 4, 16) for p in points}, name
    assert all(x["realizations"] == 2 and x["sd"] >= 0 and 0 < x["mean"] < 100 for x in rows), name
    assert any(x["sd"] > 0 for x in rows), name
assert {c["verdict"] for c in r["claims"]} <= {"holds", "does not hold", "holds under one reading", "not tested"}
assert {len(c["readings"]) for c in r["claims"]} == {0, 2}
assert all(len({x["verdict"] for x in c["readings"]}) == 2 for c in r["claims"] if c["verdict"] == "holds under one reading")
assert len(r["claims"]) == 13 and all(c["claim"] and c["criterion"] for c in r["claims"])
assert r["seed"] == 7 and r["seconds"] > 0 and r["machine"] and r["version"]
for t in r["theory"]:  # the formulas are what simulation shows, and the bounds bound
    for bags in ("curated", "random"):
        x = t[bags]
        assert abs(x["bias"] + x["variance"] - x["simulated"]) < 5 * x["standard_error"] + 1e-12, (t["k"], bags)
        assert x["bias"] + x["variance"] <= x["bound"] * (1 + 1e-9)
page = open("run/report.html").read()
assert page.count("<svg") >= 9 and "not tested" in page or "holds" in page
assert set(re.findall(r"https?://[^\"'\s<>)]+", page)) <= {"http://www.w3.org/2000/svg"}, re.findall(r"https?://\S+", page)
PY

# ---- the same bits for any number of threads, as JSON on standard output ----
for threads in 1 3; do
    expect 0 priorboost reproduce all "${quick[@]}" --threads $threads --out threads-$threads --json
    python3 -c 'import json,sys; r=json.load(open("stdout")); [r.pop(k) for k in ("seconds","machine","out")]
json.dump(r, open(sys.argv[1], "w"), sort_keys=True)' "t$threads.json"
done
cmp t1.json t3.json || fail "threads change the results"

# ---- a run that is stopped leaves nothing that looks like a result, and the command can be repeated ----
slow=(linear --scale paper --threads 1)
for signal in KILL INT; do
    "$PRIORBOOST" reproduce "${slow[@]}" --out cut-$signal >/dev/null 2>stderr &
    pid=$!
    while kill -0 $pid 2>/dev/null && [ ! -d cut-$signal ]; do :; done
    kill "-$signal" $pid
    wait $pid && fail "the run was not stopped by $signal"
    [ -z "$(ls cut-$signal)" ] || fail "a stopped run left $(ls cut-$signal)"
done
says "stopped"
expect 0 priorboost reproduce linear "${quick[@]}" --out cut-INT

# ---- refusals ----
expect 2 priorboost reproduce linear "${quick[@]}" --out run
says "--out: the folder run is not empty"
[ -s run/results.json ] || fail "a finished run was touched"
expect 2 priorboost reproduce linear
says "--out DIR is required"
expect 2 priorboost reproduce quadratic --out x
says "experiment 'quadratic' is unknown"
expect 2 priorboost reproduce --scale huge --out x
says "--scale is 'huge'"
expect 2 priorboost reproduce privacy --epsilons 1,0.5 --out x
says "the epsilons must ascend, but 0.5 comes after 1"
expect 2 priorboost reproduce privacy --epsilons 0 --out x
expect 2 priorboost reproduce linear --min-bags 4,4 --out x
says "the bag sizes must ascend"
expect 2 priorboost reproduce linear --min-bags 4,x --out x
says "--min-bags is 'x'"
expect 3 priorboost reproduce linear --rows 1000 --rounds 100 --out x
says "at most 15 rounds are possible"
no_file x
expect 1 priorboost reproduce linear --out /proc/nowhere
finish
