"""The structures of the headers in ``include/priorboost``, as ctypes sees them.

They have the fields of the C structs in their order: a test reads the headers and compares.
"""

from __future__ import annotations

import ctypes
from ctypes import (
    CFUNCTYPE,
    POINTER,
    Structure,
    c_bool,
    c_char,
    c_char_p,
    c_double,
    c_int,
    c_size_t,
    c_ssize_t,
    c_uint64,
    c_void_p,
)

import numpy as np

F64, F32 = 0, 1
LINEAR, LOGISTIC, POISSON = 0, 1, 2
EVENT, AGGREGATE, ESTIMATOR_CV = 0, 1, 3
L2_AUTO, L2_FIXED, L2_CV = 0, 1, 2
BAGS_PRIOR, BAGS_FEATURES, BAGS_HYBRID = 0, 2, 3
MOST_CLASSES, MOST_CLASS_WEIGHTS = 100, 1000  # PBOOST_MAX_CLASSES, PBOOST_MAX_CLASS_WEIGHTS
UNUSABLE, MOST_WARNINGS = 2, 12  # kinds up to UNUSABLE: the fit must not be used


class Error(Structure):
    """``pboost_error``."""

    _fields_ = [("status", c_int), ("message", c_char * 512)]


StopFunction = CFUNCTYPE(c_bool, c_void_p)
ProgressFunction = CFUNCTYPE(None, c_void_p, c_char_p, c_double, c_double)


class Cancel(Structure):
    """``pboost_cancel``."""

    _fields_ = [("stop", StopFunction), ("user", c_void_p), ("progress", ProgressFunction)]


class Matrix(Structure):
    """``pboost_matrix``: borrowed features."""

    _fields_ = [
        ("data", c_void_p),
        ("type", c_int),
        ("rows", c_size_t),
        ("cols", c_size_t),
        ("row_stride", c_ssize_t),
        ("col_stride", c_ssize_t),
    ]


class Features(Structure):
    """``pboost_features``."""

    _fields_ = [("x", Matrix), ("weight", c_void_p), ("offset", c_void_p)]


class Samples(Structure):
    """``pboost_samples``."""

    _fields_ = [
        ("x", c_void_p),
        ("row", c_void_p),
        ("n", c_size_t),
        ("target", c_void_p),
        ("weight", c_void_p),
        ("offset", c_void_p),
    ]


class Bags(Structure):
    """``pboost_bags``."""

    _fields_ = [
        ("n_rows", c_size_t),
        ("n_bags", c_size_t),
        ("row", c_void_p),
        ("start", c_void_p),
    ]


class Coef(Structure):
    """``pboost_coef``."""

    _fields_ = [("n", c_size_t), ("theta", c_void_p), ("intercept", c_double)]


class ClassCoef(Structure):
    """``pboost_class_coef``."""

    _fields_ = [("classes", c_size_t), ("cols", c_size_t), ("theta", c_void_p)]


class L2(Structure):
    """``pboost_l2``: the penalty, or who chooses it."""

    _fields_ = [("mode", c_int), ("value", c_double)]


class FitOptions(Structure):
    """``pboost_fit_options``."""

    _fields_ = [
        ("struct_size", c_size_t),
        ("family", c_int),
        ("l2", L2),
        ("intercept", c_bool),
        ("threads", c_int),
        ("max_iterations", c_size_t),
        ("tolerance", c_double),
        ("estimator", c_int),
        ("rho", c_double),
        ("covariance", c_int),
        ("seed", c_uint64),
        ("cancel", c_void_p),
        ("curves", c_size_t),
        ("curve_of", c_void_p),
        ("curve_freedom", c_void_p),
        ("bag_effects", c_bool),
        ("category_of", c_void_p),
    ]


FIT_OPTIONS_SIZE = ctypes.sizeof(FitOptions)


class FitReport(Structure):
    """``pboost_fit_report``."""

    _fields_ = [
        ("converged", c_bool),
        ("iterations", c_size_t),
        ("objective", c_double),
        ("gradient_norm", c_double),
        ("rank", c_size_t),
        ("first_dropped", c_size_t),
        ("l2", c_double),
        ("l2_standardized", c_bool),
        ("bags", c_size_t),
        ("dispersion", c_double),
        ("pearson", c_double),
        ("freedom", c_double),
        ("eta_sd", c_double),
        ("separable", c_bool),
        ("dispersion_floored", c_bool),
        ("undercovers", c_bool),
        ("mean_masked", c_bool),
        ("worse_than_constant", c_bool),
        ("estimator", c_int),
        ("noisy", c_bool),
        ("bag_effect_sd", c_double),
        ("redundant", c_size_t),
    ]


class FitWarning(Structure):
    """``pboost_warning``."""

    _fields_ = [("kind", c_int), ("text", c_char * 300)]


class Fitted(Structure):
    """``pboost_fitted``."""

    _fields_ = [
        ("report", POINTER(FitReport)),
        ("options", POINTER(FitOptions)),
        ("x", POINTER(Matrix)),
        ("coef", POINTER(Coef)),
        ("one_row_bags", c_size_t),
        ("column", POINTER(c_char_p)),
        ("feature_bags", c_char_p),
        ("sandwich", c_char_p),
    ]


class Rational(Structure):
    """``pboost_rational``: an exact fraction; a denominator of 0 means none."""

    _fields_ = [("num", c_uint64), ("den", c_uint64)]


class LabelColumn(Structure):
    """``pboost_label_column``."""

    _fields_ = [
        ("lower", c_double),
        ("upper", c_double),
        ("step", c_double),
        ("share", c_uint64),
    ]


class Rules(Structure):
    """``pboost_rules``."""

    _fields_ = [
        ("struct_size", c_size_t),
        ("min_bag", c_size_t),
        ("epsilon", Rational),
        ("bounded", c_bool),
        ("lower", c_double),
        ("upper", c_double),
        ("step", c_double),
        ("round", c_bool),
        ("width", c_size_t),
        ("answer", c_int),
        ("mechanism", c_int),
        ("columns", c_void_p),
        ("delta", Rational),
        ("rho", Rational),
    ]


AskFunction = CFUNCTYPE(c_int, c_void_p, c_size_t, POINTER(Bags), POINTER(c_double), POINTER(Error))


class Oracle(Structure):
    """``pboost_oracle``."""

    _fields_ = [("rules", Rules), ("self", c_void_p), ("ask", AskFunction)]


class MemoryOracleOptions(Structure):
    """``pboost_memory_oracle_options``."""

    _fields_ = [
        ("struct_size", c_size_t),
        ("clamp", c_bool),
        ("simulated", c_bool),
        ("seed", c_uint64),
    ]


ScoreFunction = CFUNCTYPE(
    c_int, c_void_p, POINTER(c_size_t), c_size_t, POINTER(c_double), POINTER(Error)
)
FitFunction = CFUNCTYPE(c_int, c_void_p, c_void_p, c_size_t, POINTER(Error))


class Learner(Structure):
    """``pboost_learner``."""

    _fields_ = [("self", c_void_p), ("score", ScoreFunction), ("fit", FitFunction)]


class TrainerOptions(Structure):
    """``pboost_trainer_options``."""

    _fields_ = [
        ("struct_size", c_size_t),
        ("algorithm", c_int),
        ("bags", c_int),
        ("schedule", c_int),
        ("rounds", c_size_t),
        ("bag_size", c_size_t),
        ("prior_score", c_void_p),
        ("seed", c_uint64),
        ("row_key", c_void_p),
        ("in_order", c_bool),
        ("threads", c_int),
        ("x", c_void_p),
        ("family", c_int),
        ("on_round", c_void_p),
        ("user", c_void_p),
        ("cancel", c_void_p),
        ("width", c_size_t),
        ("part", c_void_p),
        ("parts", c_size_t),
    ]


class Outcome(Structure):
    """``pboost_outcome``."""

    _fields_ = [
        ("report", c_void_p),
        ("history", c_void_p),
        ("path", c_void_p),
        ("covariance", c_void_p),
        ("warnings", c_size_t),
    ]


class Simulation(Structure):
    """``pboost_simulation``."""

    _fields_ = [
        ("struct_size", c_size_t),
        ("rules", Rules),
        ("holder", MemoryOracleOptions),
        ("fit", FitOptions),
        ("trainer", TrainerOptions),
    ]


SIMULATION_SIZE = ctypes.sizeof(Simulation)


class Assumptions(Structure):
    """``pboost_assumptions``."""

    _fields_ = [
        ("coef", POINTER(Coef)),
        ("mean", c_double),
        ("dispersion", c_double),
        ("model_error", c_double),
    ]


class Fixed(Structure):
    """``pboost_fixed``."""

    _fields_ = [
        ("rounds", c_size_t),
        ("bag_size", c_size_t),
        ("has_estimator", c_bool),
        ("has_bags", c_bool),
        ("has_schedule", c_bool),
        ("estimator", c_int),
        ("bags", c_int),
        ("schedule", c_int),
    ]


class PlanOptions(Structure):
    """``pboost_plan_options``."""

    _fields_ = [
        ("struct_size", c_size_t),
        ("family", c_int),
        ("rules", Rules),
        ("epsilon", POINTER(Rational)),
        ("n_epsilon", c_size_t),
        ("intercept", c_bool),
        ("l2", L2),
        ("assumed", Assumptions),
        ("max_rows", c_size_t),
        ("brief", c_bool),
        ("seed", c_uint64),
        ("threads", c_int),
        ("cancel", c_void_p),
        ("fixed", Fixed),
        ("costs", c_bool),
        ("target", c_double),
        ("trees", c_bool),
    ]


class PlanPoint(Structure):
    """``pboost_plan_point``."""

    _fields_ = [
        ("estimator", c_int),
        ("bags", c_int),
        ("rounds", c_size_t),
        ("bag_size", c_size_t),
        ("n_bags", c_size_t),
        ("epsilon", Rational),
        ("forecast", c_int),
        ("excess", c_double),
        ("cautious", c_double),
        ("se", c_double),
        ("comparison_only", c_bool),
    ]


class Cost(Structure):
    """``pboost_cost``."""

    _fields_ = [
        ("point", c_size_t),
        ("loss", c_double),
        ("kept", c_double),
        ("labels", c_double),
        ("measure", c_double),
        ("rows_needed", c_double),
    ]


class Plan(Structure):
    """``pboost_plan``."""

    _fields_ = [
        ("n_points", c_size_t),
        ("point", POINTER(PlanPoint)),
        ("best", c_size_t),
        ("n_columns", c_size_t),
        ("se", c_void_p),
        ("all_labels", c_double),
        ("constant", c_double),
        ("dispersion", c_double),
        ("model_error", c_double),
        ("mean", c_double),
        ("default_coef", c_bool),
        ("default_dispersion", c_bool),
        ("no_better_than_mean", c_bool),
        ("rare", c_bool),
        ("events", c_double),
        ("rows", c_size_t),
        ("sample_rows", c_size_t),
        ("reason", c_char * 256),
        ("warning", c_char * 256 * 2),
        ("n_warnings", c_size_t),
        ("n_costs", c_size_t),
        ("cost", POINTER(Cost)),
        ("measure", c_char_p),
        ("loss_all_labels", c_double),
        ("loss_constant", c_double),
        ("measure_all_labels", c_double),
        ("measure_constant", c_double),
        ("least_epsilon", c_double),
        ("family", c_int),
    ]


class Choice(Structure):
    """``pboost_choice``."""

    _fields_ = [
        ("plan", Plan),
        ("estimator", c_int),
        ("algorithm", c_int),
        ("bags", c_int),
        ("schedule", c_int),
        ("rounds", c_size_t),
        ("bag_size", c_size_t),
        ("planned_bag_size", c_size_t),
        ("pilot", c_bool),
        ("learnt", Assumptions),
    ]


class Risk(Structure):
    """``pboost_risk``."""

    _fields_ = [("bias", c_double), ("variance", c_double)]


SumsFunction = CFUNCTYPE(c_int, c_void_p, POINTER(Coef), c_bool, POINTER(c_double), POINTER(Error))
DirectionFunction = CFUNCTYPE(c_int, c_void_p, POINTER(Coef), POINTER(c_double), POINTER(Error))


class Parts(Structure):
    """``pboost_parts``."""

    _fields_ = [("self", c_void_p), ("sums", SumsFunction), ("direction", DirectionFunction)]


class PartBags(Structure):
    """``pboost_part_bags``."""

    _fields_ = [("x", POINTER(Matrix)), ("n_bags", c_size_t), ("start", c_void_p)]


class BagPoint(Structure):
    """``pboost_bag_point``."""

    _fields_ = [
        ("family", c_int),
        ("intercept", c_bool),
        ("cols", c_size_t),
        ("shift", c_void_p),
        ("center", c_void_p),
        ("scale", c_void_p),
        ("parameter", c_void_p),
    ]


_DOUBLES = POINTER(c_double)
ColumnsFunction = CFUNCTYPE(c_int, c_void_p, _DOUBLES, POINTER(Error))
MomentsFunction = CFUNCTYPE(
    c_int, c_void_p, POINTER(BagPoint), _DOUBLES, _DOUBLES, _DOUBLES, POINTER(Error)
)
GramFunction = CFUNCTYPE(
    c_int, c_void_p, POINTER(BagPoint), c_void_p, c_void_p, _DOUBLES, POINTER(Error)
)


class BagParts(Structure):
    """``pboost_bag_parts``."""

    _fields_ = [
        ("self", c_void_p),
        ("base", c_void_p),
        ("columns", ColumnsFunction),
        ("moments", MomentsFunction),
        ("gram", GramFunction),
        ("laplace", c_bool),
    ]


class ClassPoint(Structure):
    """``pboost_class_point``."""

    _fields_ = [
        ("classes", c_size_t),
        ("cols", c_size_t),
        ("intercept", c_bool),
        ("shift", c_void_p),
        ("center", c_void_p),
        ("scale", c_void_p),
        ("parameter", c_void_p),
    ]


class ClassBags(Structure):
    """``pboost_class_bags``."""

    _fields_ = [(name, c_void_p) for name in ("answer", "noise", "size", "blur")]


_AT, _KNOWN = POINTER(ClassPoint), POINTER(ClassBags)
ClassMomentsFunction = CFUNCTYPE(c_int, c_void_p, _AT, _DOUBLES, _DOUBLES, _DOUBLES, POINTER(Error))
ClassGramFunction = CFUNCTYPE(c_int, c_void_p, _AT, _KNOWN, _DOUBLES, POINTER(Error))
ClassMeatFunction = CFUNCTYPE(c_int, c_void_p, _AT, _KNOWN, _DOUBLES, _DOUBLES, POINTER(Error))
ClassRowsFunction = CFUNCTYPE(c_int, c_void_p, _AT, _DOUBLES, POINTER(Error))


class ClassParts(Structure):
    """``pboost_class_parts``."""

    _fields_ = [
        ("self", c_void_p),
        ("base", c_void_p),
        ("columns", ColumnsFunction),
        ("moments", ClassMomentsFunction),
        ("gram", ClassGramFunction),
        ("meat", ClassMeatFunction),
        ("scores", ClassGramFunction),
        ("rows", ClassRowsFunction),
    ]


# One round of a history; what `pboost_round` is in memory.
ROUND = np.dtype(
    [
        ("round", np.uintp),
        ("rounds", np.uintp),
        ("rows", np.uintp),
        ("bags", np.uintp),
        ("within", np.float64),
        ("test_loss", np.float64),
    ]
)
