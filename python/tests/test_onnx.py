"""Exported models predict what the program predicts, in a real runtime."""

import csv
import json

import numpy as np
import pytest
from random_models import random_model, random_rows

onnxruntime = pytest.importorskip(
    "onnxruntime", reason="onnxruntime is not installed: exported models are not run"
)


def numbers(cells):
    return np.array([[float(cell) if cell else np.nan] for cell in cells])


def feed_of(session, rows):
    """Return the inputs that the session asks for."""
    days = np.array([row["when"] or "NaT" for row in rows], dtype="datetime64[D]")
    whole = days.astype(np.int64).astype(float)
    known = np.where(np.isnat(days), np.nan, 1.0)
    parts = {
        "when:days": whole * known,
        "when:year": (days.astype("datetime64[Y]").astype(np.int64) + 1970) * known,
        "when:month": (days.astype("datetime64[M]").astype(np.int64) % 12 + 1) * known,
        "when:weekday": ((days.astype(np.int64) + 3) % 7) * known,
    }
    out = {}
    for item in session.get_inputs():
        cells = [row.get(item.name) for row in rows]
        if item.name in parts:
            out[item.name] = parts[item.name][:, None]
        elif item.type == "tensor(string)":
            out[item.name] = np.array([[cell] for cell in cells], dtype=object)
        else:
            out[item.name] = numbers(cells)
    return out


@pytest.mark.parametrize("family", ["linear", "logistic", "poisson"])
@pytest.mark.parametrize(
    "kinds",
    [["glm"], ["trees"], ["glm-trees"], ["constant", "glm", "trees", "glm-trees"]],
    ids=lambda kinds: "+".join(kinds),
)
def test_predicts_as_the_program_does(cli, tmp_path, family, kinds):
    rng = np.random.default_rng(len(kinds))
    offset = "log n" if family == "poisson" else None
    model, data, onnx = (tmp_path / name for name in ("m.json", "d.csv", "m.onnx"))
    model.write_text(json.dumps(random_model(rng, family, kinds, offset)))
    rows = random_rows(rng, 400)
    with data.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    cli("export", model, onnx)
    session = onnxruntime.InferenceSession(onnx)
    (predicted,) = session.run(["prediction"], feed_of(session, rows))
    expected = np.array(cli("predict", "--model", model, "--data", data)["prediction"])
    assert predicted.shape == (400, 1)
    # Trees are added up in single precision; what has none agrees to rounding errors.
    digits = 1e-5 if any("trees" in kind for kind in kinds) else 1e-12
    np.testing.assert_allclose(predicted[:, 0], expected, rtol=digits, atol=digits)
    assert np.ptp(expected) > 0.05  # the comparison says something


def test_leaves_alone_and_refused_cells(cli, tmp_path):
    """Trees that split nothing; a cell that predict refuses makes a GLM's prediction NaN."""
    leaf = {"column": [-1], "right": [0], "value": [0.25], "missing_left": [0], "left_codes": [0],
            "codes": []}  # fmt: skip
    base = {"format": "priorboost-model", "version": 2, "family": "linear", "unseen": "error",
            "features": [{"name": "c", "levels": ["a", "b"]}, {"name": "x"}],
            "columns": ["c=b", "x"]}  # fmt: skip
    members = [{"kind": "trees", "weight": 1, "intercept": 1, "trees": [leaf, leaf]}]
    cells = {"c": np.array([["a"], ["b"], ["z"], [""]], dtype=object),
             "x": np.array([[1.0], [np.nan], [3.0], [4.0]])}  # fmt: skip
    expected = {
        "members": [1.5, 1.5, 1.5, 1.5],
        "theta": [12.0, np.nan, np.nan, np.nan],
    }
    parts = {"members": {"members": members}, "theta": {"theta": [5, 2], "intercept": 10}}
    for name, part in parts.items():
        (tmp_path / "m.json").write_text(json.dumps(base | part))
        cli("export", tmp_path / "m.json", tmp_path / "m.onnx")
        session = onnxruntime.InferenceSession(tmp_path / "m.onnx")
        (predicted,) = session.run(None, cells)
        np.testing.assert_array_equal(predicted[:, 0], expected[name])


@pytest.mark.parametrize("parts", ["days", "days+weekday", "year+month"])
def test_curves_of_dates(cli, tmp_path, parts):
    """A date has its curve once, however many parts it has."""
    rng = np.random.default_rng(4)
    days = rng.integers(16000, 20000, 2000)
    when = days.astype("datetime64[D]")
    y = np.sin(days / 400) + rng.normal(0, 0.1, 2000)
    lines = (f"{a},{b!r}" for a, b in zip(when, y.tolist(), strict=True))
    (tmp_path / "d.csv").write_text("\n".join(["when,y", *lines]) + "\n")
    files = [tmp_path / name for name in ("d.csv", "m.json", "m.onnx")]
    cli("train", "--data", files[0], "--label", "y", "--family", "linear", "--min-bag", 4,
        "--model", "smooth", "--date", f"when={parts}", "--out", files[1])  # fmt: skip
    cli("export", files[1], files[2])
    session = onnxruntime.InferenceSession(files[2])
    (predicted,) = session.run(None, feed_of(session, [{"when": str(day)} for day in when]))
    expected = cli("predict", "--model", files[1], "--data", files[0])["prediction"]
    np.testing.assert_allclose(predicted[:, 0], expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("model", ["glm", "smooth", "trees"])
def test_models_from_train(cli, tmp_path, model):
    """Also beyond the knots of curves and the range of the training table."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(2000, 2))
    y = np.sin(2 * X[:, 0]) + X[:, 1] + rng.normal(0, 0.1, 2000)
    for name, scale in (("train.csv", 1.0), ("far.csv", 4.0)):
        lines = (
            f"{a * scale!r},{b * scale!r},{c!r}"
            for (a, b), c in zip(X.tolist(), y.tolist(), strict=True)
        )
        (tmp_path / name).write_text("\n".join(["a,b,y", *lines]) + "\n")
    files = [tmp_path / name for name in ("train.csv", "far.csv", "m.json", "m.onnx")]
    cli("train", "--data", files[0], "--label", "y", "--family", "linear", "--min-bag", 4,
        "--model", model, "--out", files[2])  # fmt: skip
    cli("export", files[2], files[3])
    session = onnxruntime.InferenceSession(files[3])
    (predicted,) = session.run(None, {"a": 4.0 * X[:, :1], "b": 4.0 * X[:, 1:]})
    expected = cli("predict", "--model", files[2], "--data", files[1])["prediction"]
    digits = 1e-5 if model == "trees" else 1e-9
    np.testing.assert_allclose(predicted[:, 0], expected, rtol=digits, atol=digits)


@pytest.mark.parametrize("model", ["glm", "smooth", "trees", "auto"])
def test_classes(cli, tmp_path, model):
    rng = np.random.default_rng(3)
    x, city = rng.normal(size=3000).round(3), rng.choice(list("abc"), 3000)
    y = np.where(np.abs(x) < 0.5, "low", np.where((x > 0) ^ (city == "a"), "mid", "top"))
    lines = [f"{a},{b},{c}" for a, b, c in zip(x.tolist(), city, y, strict=True)]
    (tmp_path / "t.csv").write_text("\n".join(["x,city,y", *lines]) + "\n")
    data, file, onnx = tmp_path / "t.csv", tmp_path / "m.json", tmp_path / "m.onnx"
    cli("train", "--data", data, "--label", "y", "--min-bag", 10, "--model", model, "--out", file)
    assert cli("export", file, onnx)["family"] == "classes"
    wanted = np.array(cli("predict", "--model", file, "--data", data)["probability"])
    session = onnxruntime.InferenceSession(onnx)
    feed = {"x": x[:, None], "city": city.astype(object)[:, None]}
    got = np.hstack(session.run(["p_low", "p_mid", "p_top"], feed))
    assert np.abs(got - wanted).max() < 1e-6
    assert np.ptp(wanted) > 0.5
