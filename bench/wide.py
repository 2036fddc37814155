"""Sparse tables and wide fits of the shared library, through ctypes, for bench/sparse.py."""

import ctypes as C
import os
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python"))
os.environ.setdefault("PRIORBOOST_LIBRARY", str(ROOT / "build/lib/libpriorboost.so"))

from priorboost import _structures as S  # noqa: E402

LIBRARY = C.CDLL(os.environ["PRIORBOOST_LIBRARY"])
ERROR = S.Error()
FAMILIES = {"linear": 0, "logistic": 1, "poisson": 2}
EVENT, AGGREGATE = 0, 1
AUTO, FIXED = 0, 1
SKETCH_DIMS = 16
BAGS = {"prior": 0, "random": 1, "features": 2, "hybrid": 3}


class Sparse(C.Structure):
    _fields_ = [
        ("rows", C.c_size_t),
        ("cols", C.c_size_t),
        ("start", C.c_void_p),
        ("start_bytes", C.c_uint),
        ("type", C.c_int),
        ("column", C.c_void_p),
        ("value", C.c_void_p),
    ]


class WideFeatures(C.Structure):
    _fields_ = [("x", Sparse), ("weight", C.c_void_p), ("offset", C.c_void_p)]


class WideSamples(C.Structure):
    _fields_ = [
        ("x", C.POINTER(Sparse)),
        ("row", C.c_void_p),
        ("n", C.c_size_t),
        ("target", C.c_void_p),
        ("weight", C.c_void_p),
        ("offset", C.c_void_p),
    ]


def check(status):
    if status != 0:
        raise RuntimeError(ERROR.message.decode())


def describe(x):
    """A scipy CSR matrix as the library sees it; x must stay alive."""
    return Sparse(
        *x.shape,
        x.indptr.ctypes.data,
        x.indptr.dtype.itemsize,
        0 if x.data.dtype == np.float64 else 1,
        x.indices.ctypes.data,
        x.data.ctypes.data,
    )


def fit_options(estimator, l2=None, threads=2, tolerance=1e-9, family="logistic", seed=0):
    options = S.FitOptions()
    options.struct_size = C.sizeof(S.FitOptions)
    options.family = FAMILIES[family]
    options.l2 = S.L2(AUTO if l2 is None else FIXED, 0.0 if l2 is None else l2)
    options.intercept = True
    options.threads = threads
    options.max_iterations = 100
    options.tolerance = tolerance
    options.estimator = estimator
    options.rho = 0.5
    options.seed = seed
    return options


class Model:
    def __init__(self, cols):
        self.theta = np.zeros(cols)
        self.coef = S.Coef(cols, self.theta.ctypes.data, 0.0)
        self.report = S.FitReport()

    def predict(self, x, family="logistic", threads=2):
        mean = np.empty(x.shape[0])
        matrix = describe(x)
        samples = WideSamples(C.pointer(matrix), None, x.shape[0], None, None, None)
        check(
            LIBRARY.pboost_wide_predict(
                C.c_void_p(mean.ctypes.data),
                FAMILIES[family],
                C.byref(samples),
                C.byref(self.coef),
                threads,
                C.byref(ERROR),
            )
        )
        return mean


def event_fit(x, y, options):
    model, matrix = Model(x.shape[1]), describe(x)
    samples = WideSamples(C.pointer(matrix), None, x.shape[0], y.ctypes.data, None, None)
    check(
        LIBRARY.pboost_wide_event_fit(
            C.byref(model.coef),
            C.byref(model.report),
            C.byref(samples),
            C.byref(options),
            C.byref(ERROR),
        )
    )
    return model


def sketch(x, dims, seed=0, threads=2):
    out, matrix = np.empty((x.shape[0], dims), np.float32), describe(x)
    check(
        LIBRARY.pboost_sparse_sketch(
            C.c_void_p(out.ctypes.data),
            C.byref(matrix),
            C.c_size_t(dims),
            C.c_uint64(seed),
            threads,
            None,
            C.byref(ERROR),
        )
    )
    return out


def train(
    x, y, options, bag, bags, rounds, narrow=None, epsilon=None, seed=0, threads=2, on_round=None
):
    """Through a trainer and an oracle in memory; narrow: the sketch.  Returns the model."""
    features = WideFeatures(describe(x), None, None)
    rules = S.Rules()
    rules.struct_size = C.sizeof(S.Rules)
    rules.min_bag = bag
    if epsilon is not None:
        rules.epsilon = S.Rational(int(epsilon * 1000), 1000)
        rules.bounded, rules.lower, rules.upper, rules.step = True, 0.0, 1.0, 1.0
    holder = S.MemoryOracleOptions()
    holder.struct_size = C.sizeof(S.MemoryOracleOptions)
    holder.simulated, holder.seed = True, seed
    labels, wide, trainer = C.c_void_p(), C.c_void_p(), C.c_void_p()
    check(
        LIBRARY.pboost_memory_oracle_create(
            C.byref(labels),
            C.c_void_p(y.ctypes.data),
            C.c_size_t(len(y)),
            C.byref(rules),
            C.byref(holder),
            C.byref(ERROR),
        )
    )
    LIBRARY.pboost_memory_oracle_interface.restype = S.Oracle
    LIBRARY.pboost_wide_learner.restype = S.Learner
    oracle = LIBRARY.pboost_memory_oracle_interface(labels)
    check(
        LIBRARY.pboost_wide_create(
            C.byref(wide), C.byref(features), None, C.byref(options), C.byref(ERROR)
        )
    )
    learner = LIBRARY.pboost_wide_learner(wide)
    training = S.TrainerOptions()
    training.struct_size = C.sizeof(S.TrainerOptions)
    training.algorithm, training.bags, training.rounds = 0, BAGS[bags], rounds
    training.seed, training.threads, training.family = seed, threads, options.family
    if narrow is not None:
        matrix = S.Matrix(narrow.ctypes.data, 1, *narrow.shape, narrow.shape[1], 1)
        training.x = C.addressof(matrix)
    check(
        LIBRARY.pboost_trainer_create(
            C.byref(trainer),
            C.c_size_t(x.shape[0]),
            C.byref(oracle),
            C.byref(learner),
            C.byref(training),
            C.byref(ERROR),
        )
    )
    model = Model(x.shape[1])
    LIBRARY.pboost_wide_coef.restype = C.POINTER(S.Coef)
    LIBRARY.pboost_wide_report.restype = C.POINTER(S.FitReport)
    for _ in range(rounds):
        check(LIBRARY.pboost_trainer_step(trainer, C.byref(ERROR)))
        coef = LIBRARY.pboost_wide_coef(wide).contents
        C.memmove(model.theta.ctypes.data, coef.theta, 8 * x.shape[1])
        model.coef.intercept = coef.intercept
        C.memmove(C.byref(model.report), LIBRARY.pboost_wide_report(wide), C.sizeof(S.FitReport))
        if on_round is not None:
            on_round(model)
    LIBRARY.pboost_trainer_free(trainer)
    LIBRARY.pboost_wide_free(wide)
    LIBRARY.pboost_memory_oracle_free(labels)
    return model
