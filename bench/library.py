"""The shared library through ctypes, on NumPy arrays and without copies."""

import ctypes as C
from pathlib import Path

import numpy as np

FAMILIES = {"linear": 0, "logistic": 1, "poisson": 2}
TYPES = {np.dtype(np.float64): 0, np.dtype(np.float32): 1}


class Error(C.Structure):
    _fields_ = [("status", C.c_int), ("message", C.c_char * 512)]


class Matrix(C.Structure):
    _fields_ = [
        ("data", C.c_void_p),
        ("type", C.c_int),
        ("rows", C.c_size_t),
        ("cols", C.c_size_t),
        ("row_stride", C.c_ssize_t),
        ("col_stride", C.c_ssize_t),
    ]


class Samples(C.Structure):
    _fields_ = [
        ("x", C.POINTER(Matrix)),
        ("row", C.c_void_p),
        ("n", C.c_size_t),
        ("target", C.c_void_p),
        ("weight", C.c_void_p),
        ("offset", C.c_void_p),
    ]


class Bags(C.Structure):
    _fields_ = [
        ("n_rows", C.c_size_t),
        ("n_bags", C.c_size_t),
        ("row", C.POINTER(C.c_size_t)),
        ("start", C.POINTER(C.c_size_t)),
    ]


class Coef(C.Structure):
    _fields_ = [("n", C.c_size_t), ("theta", C.c_void_p), ("intercept", C.c_double)]


class L2(C.Structure):
    _fields_ = [("mode", C.c_int), ("value", C.c_double)]


class FitOptions(C.Structure):
    _fields_ = [
        ("struct_size", C.c_size_t),
        ("family", C.c_int),
        ("l2", L2),
        ("intercept", C.c_bool),
        ("threads", C.c_int),
        ("max_iterations", C.c_size_t),
        ("tolerance", C.c_double),
        ("estimator", C.c_int),
        ("rho", C.c_double),
        ("covariance", C.c_int),
        ("seed", C.c_uint64),
        (("cancel", C.c_void_p)),
    ]


class FitReport(C.Structure):
    _fields_ = [
        ("converged", C.c_bool),
        ("iterations", C.c_size_t),
        ("objective", C.c_double),
        ("gradient_norm", C.c_double),
        ("rest", C.c_double * 64),  # more than there is
    ]


class Synthetic(C.Structure):
    _fields_ = [
        ("struct_size", C.c_size_t),
        ("family", C.c_int),
        ("features", C.c_size_t),
        ("noise", C.c_double),
        ("round_labels", C.c_bool),
        ("seed", C.c_uint64),
    ]


class Partition:
    """Bags that the library made; row and start copy its arrays."""

    def __init__(self, library, bags):
        self._library, self._bags = library, bags

    @property
    def row(self):
        return np.array(np.ctypeslib.as_array(self._bags.row, (self._bags.n_rows,)), np.int64)

    @property
    def start(self):
        return np.array(np.ctypeslib.as_array(self._bags.start, (self._bags.n_bags + 1,)), np.int64)

    def __del__(self):
        self._library.pboost_bags_free(C.byref(self._bags))


class Library:
    def __init__(self, path):
        self.path = Path(path)
        self._c = C.CDLL(str(self.path))
        self._c.pboost_version.restype = C.c_char_p
        self.version = self._c.pboost_version().decode()
        self._error = Error()
        self._report = FitReport()
        self._last = (None, None, None)

    def _check(self, status):
        if status != 0:
            raise RuntimeError(f"priorboost: {self._error.message.decode()}")

    def _samples(self, x, y):
        """What describes the arrays to the library; that of the last ones is kept."""
        if self._last[0] is not x or self._last[1] is not y:
            self._last = (x, y, self._describe(x, y))
        return self._last[2]

    @staticmethod
    def _describe(x, y):
        itemsize = x.dtype.itemsize
        matrix = Matrix(
            x.ctypes.data,
            TYPES[x.dtype],
            *x.shape,
            x.strides[0] // itemsize,
            x.strides[1] // itemsize,
        )
        samples = Samples(C.pointer(matrix), None, x.shape[0], y.ctypes.data, None, None)
        return samples, matrix

    def bags_optimal(self, score, min_bag, threads=1):
        bags = Bags()
        self._check(
            self._c.pboost_bags_optimal(
                C.byref(bags),
                C.c_void_p(score.ctypes.data),
                C.c_size_t(len(score)),
                C.c_size_t(min_bag),
                C.c_int(threads),
                C.byref(self._error),
            )
        )
        return Partition(self._c, bags)

    def event_fit(self, family, x, y, l2, start=None, threads=1, tolerance=1e-14):
        """theta that minimises the sum of losses plus l2/2 |theta|^2, without intercept."""
        theta = np.zeros(x.shape[1]) if start is None else np.array(start, dtype=np.float64)
        coef = Coef(len(theta), theta.ctypes.data, 0.0)
        options = FitOptions(
            C.sizeof(FitOptions), FAMILIES[family], L2(1, l2), False, threads, 100, tolerance, 0, 0.5, 0,
            0, None
        )
        report = self._report
        samples, _matrix = self._samples(x, y)
        self._check(
            self._c.pboost_event_fit(
                C.byref(coef),
                C.byref(report),
                C.byref(samples),
                C.byref(options),
                C.byref(self._error),
            )
        )
        if not report.converged:
            raise RuntimeError("priorboost: the fit did not converge")
        return theta

    @property
    def steps(self):
        """Of the last fit."""
        return self._report.iterations

    def losses(self, family, x, y, thetas, threads=1):
        coefs = (Coef * len(thetas))(*(Coef(len(t), t.ctypes.data, 0.0) for t in thetas))
        loss = np.empty(len(thetas))
        samples, _matrix = self._samples(x, y)
        self._check(
            self._c.pboost_losses(
                C.c_void_p(loss.ctypes.data),
                C.c_int(FAMILIES[family]),
                C.byref(samples),
                coefs,
                C.c_size_t(len(thetas)),
                C.c_int(threads),
                C.byref(self._error),
            )
        )
        return loss

    def synthetic(self, family, rows, cols, stream):
        """The paper's data: rows of stream 0 are for training, those of stream 1 for tests."""
        options = Synthetic(C.sizeof(Synthetic), FAMILIES[family], cols, 0.1,
                            family == "logistic", 0)
        theta, x, y = np.empty(cols), np.empty((rows, cols)), np.empty(rows)
        self._check(
            self._c.pboost_synthetic_theta(
                C.c_void_p(theta.ctypes.data), C.byref(options), C.byref(self._error)
            )
        )
        self._check(
            self._c.pboost_synthetic_rows(
                C.c_void_p(x.ctypes.data),
                C.c_void_p(y.ctypes.data),
                C.byref(options),
                C.c_void_p(theta.ctypes.data),
                C.c_uint64(stream),
                C.c_size_t(0),
                C.c_size_t(rows),
                C.c_int(0),
                C.byref(self._error),
            )
        )
        return x, y
