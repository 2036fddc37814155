"""The structures of tables, encodings, trees and model files, as ctypes sees them."""

from __future__ import annotations

from ctypes import (
    POINTER,
    Structure,
    c_bool,
    c_char_p,
    c_double,
    c_int,
    c_size_t,
    c_ssize_t,
    c_uint,
    c_uint32,
    c_uint64,
    c_void_p,
)

from ._structures import Cancel, ClassCoef, Coef, FitOptions, Rational


class Column(Structure):
    """``pboost_column``."""

    _fields_ = [
        ("number", c_void_p),
        ("stride", c_ssize_t),
        ("code", c_void_p),
        ("levels", c_size_t),
    ]


class Columns(Structure):
    """``pboost_columns``."""

    _fields_ = [("rows", c_size_t), ("n", c_size_t), ("column", POINTER(Column))]


class Node(Structure):
    """``pboost_node``."""

    _fields_ = [
        ("column", c_uint32),
        ("left", c_uint32),
        ("right", c_uint32),
        ("set", c_uint32),
        ("n_set", c_uint32),
        ("missing_left", c_bool),
        ("value", c_double),
    ]


class Forest(Structure):
    """``pboost_forest``."""

    _fields_ = [
        ("n_columns", c_size_t),
        ("n_trees", c_size_t),
        ("n_nodes", c_size_t),
        ("n_codes", c_size_t),
        ("root", POINTER(c_uint32)),
        ("node", POINTER(Node)),
        ("code", POINTER(c_uint32)),
    ]


class ForestOptions(Structure):
    """``pboost_forest_options``."""

    _fields_ = [
        ("struct_size", c_size_t),
        ("family", c_int),
        ("trees", c_size_t),
        ("max_trees", c_size_t),
        ("leaves", c_size_t),
        ("min_rows", c_size_t),
        ("rate", c_double),
        ("l2", c_double),
        ("bag_fraction", c_double),
        ("column_fraction", c_double),
        ("folds", c_size_t),
        ("threads", c_int),
        ("seed", c_uint64),
        ("cancel", c_void_p),
        ("fold", c_void_p),
        ("fold_start", c_void_p),
    ]


class ForestReport(Structure):
    """``pboost_forest_report``."""

    _fields_ = [
        ("trees", c_size_t),
        ("bags", c_size_t),
        ("dispersion", c_double),
        ("misfit", c_double),
        ("constant_misfit", c_double),
        ("worse_than_constant", c_bool),
    ]


class Member(Structure):
    """``pboost_member``."""

    _fields_ = [("kind", c_int), ("weight", c_double), ("coef", Coef), ("forest", Forest)]


class Mixture(Structure):
    """``pboost_mixture``."""

    _fields_ = [("n", c_size_t), ("member", POINTER(Member))]


class MixtureOptions(Structure):
    """``pboost_mixture_options``."""

    _fields_ = [
        ("struct_size", c_size_t),
        ("members", c_uint),
        ("fit", FitOptions),
        ("forest", ForestOptions),
    ]


class MemberReport(Structure):
    """``pboost_member_report``."""

    _fields_ = [
        ("fitted", c_bool),
        ("weight", c_double),
        ("misfit", c_double),
        ("trees", c_size_t),
    ]


class MixtureReport(Structure):
    """``pboost_mixture_report``."""

    _fields_ = [
        ("bags", c_size_t),
        ("dispersion", c_double),
        ("misfit", c_double),
        ("worse_than_constant", c_bool),
        ("member", MemberReport * 5),
    ]


class Curve(Structure):
    """``pboost_curve``."""

    _fields_ = [
        ("n_knots", c_size_t),
        ("n", c_size_t),
        ("knot", c_void_p),
        ("value", c_void_p),
        ("bend", c_void_p),
    ]


class ColumnCells(Structure):
    """``pboost_column_cells``."""

    _fields_ = [
        ("name", c_char_p),
        ("number", c_void_p),
        ("code", c_void_p),
        ("level", POINTER(c_char_p)),
        ("n_levels", c_size_t),
    ]


class TableOptions(Structure):
    """``pboost_table_options``."""

    _fields_ = [
        ("struct_size", c_size_t),
        ("text", POINTER(c_char_p)),
        ("n_text", c_size_t),
        ("numbers", POINTER(c_char_p)),
        ("n_numbers", c_size_t),
        ("missing", POINTER(c_char_p)),
        ("n_missing", c_size_t),
        ("unused", POINTER(c_char_p)),
        ("n_unused", c_size_t),
        ("only_named", c_bool),
        ("rows", c_void_p),
        ("cancel", POINTER(Cancel)),
        ("svmlight", c_bool),
        ("index_base", c_int),
        ("sparse_columns", c_size_t),
    ]


class Sparse(Structure):
    """``pboost_sparse``: borrowed rows by their non-zero entries."""

    _fields_ = [
        ("rows", c_size_t),
        ("cols", c_size_t),
        ("start", c_void_p),
        ("start_bytes", c_uint),
        ("type", c_int),
        ("column", c_void_p),
        ("value", c_void_p),
    ]


class WideFeatures(Structure):
    """``pboost_wide_features``."""

    _fields_ = [("x", Sparse), ("weight", c_void_p), ("offset", c_void_p)]


class WideSamples(Structure):
    """``pboost_wide_samples``."""

    _fields_ = [
        ("x", POINTER(Sparse)),
        ("row", c_void_p),
        ("n", c_size_t),
        ("target", c_void_p),
        ("weight", c_void_p),
        ("offset", c_void_p),
    ]


class Entries(Structure):
    """``pboost_entries``: sparse rows that own their memory."""

    _fields_ = [("x", Sparse), ("start", c_void_p), ("column", c_void_p), ("value", c_void_p)]


class HashColumn(Structure):
    """``pboost_hash_column``."""

    _fields_ = [
        ("name", c_char_p),
        ("number", c_bool),
        ("mean", c_double),
        ("scale", c_double),
    ]


class HashCross(Structure):
    """``pboost_hash_cross``."""

    _fields_ = [("a", c_size_t), ("b", c_size_t)]


class Hashing(Structure):
    """``pboost_hashing``."""

    _fields_ = [
        ("bits", c_uint),
        ("n_columns", c_size_t),
        ("n_crosses", c_size_t),
        ("column", POINTER(HashColumn)),
        ("cross", POINTER(HashCross)),
    ]


class ModelSparse(Structure):
    """``pboost_model_sparse``."""

    _fields_ = [("columns", c_size_t), ("index_base", c_int), ("hashing", Hashing)]


# pboost_column_kind
COLUMN_NUMBER, COLUMN_CATEGORY, COLUMN_DATE, COLUMN_ID, COLUMN_EMPTY = range(5)


class ColumnInfo(Structure):
    """``pboost_column_info``."""

    _fields_ = [
        ("kind", c_int),
        ("missing", c_size_t),
        ("words", c_size_t),
        ("word", c_char_p),
        ("decimal_comma", c_bool),
        ("levels", c_size_t),
        ("lower", c_double),
        ("upper", c_double),
        ("mean", c_double),
        ("offender", c_size_t),
        ("offending", c_char_p),
    ]


class EncodingOptions(Structure):
    """``pboost_encoding_options``."""

    _fields_ = [
        ("struct_size", c_size_t),
        ("use", POINTER(c_bool)),
        ("date", POINTER(c_uint)),
        ("impute", c_bool),
        ("refuse_unseen", c_bool),
        ("max_levels", c_size_t),
    ]


class Unseen(Structure):
    """``pboost_unseen``."""

    _fields_ = [
        ("cells", c_size_t),
        ("row", c_size_t),
        ("feature", c_size_t),
        ("level", c_char_p),
    ]


class Feature(Structure):
    """``pboost_feature``."""

    _fields_ = [
        ("name", c_char_p),
        ("n_levels", c_size_t),
        ("level", POINTER(c_char_p)),
        ("impute", c_bool),
        ("fill", c_double),
        ("winsorize", c_bool),
        ("lower", c_double),
        ("upper", c_double),
        ("other", c_bool),
        ("date", c_uint),
        ("curve", Curve),
    ]


class Encoding(Structure):
    """``pboost_encoding``."""

    _fields_ = [
        ("n_features", c_size_t),
        ("n_columns", c_size_t),
        ("feature", POINTER(Feature)),
        ("column", POINTER(c_char_p)),
        ("refuse_unseen", c_bool),
        ("n_curves", c_size_t),
    ]


class Training(Structure):
    """``pboost_training``."""

    _fields_ = [
        ("algorithm", c_char_p),
        ("estimator", c_char_p),
        ("bags", c_char_p),
        ("min_bag", c_size_t),
        ("rounds", c_size_t),
        ("rows_spent", c_size_t),
        ("epsilon", Rational),
        ("l2", c_double),
        ("simulated", c_bool),
        ("has_seed", c_bool),
        ("seed", c_uint64),
    ]


class Sources(Structure):
    """``pboost_sources``."""

    _fields_ = [("columns", Columns), ("block", POINTER(c_void_p))]


class ModelClasses(Structure):
    """``pboost_model_classes``."""

    _fields_ = [("n", c_size_t), ("name", POINTER(c_char_p)), ("coef", ClassCoef)]


class Model(Structure):
    """``pboost_model``."""

    _fields_ = [
        ("family", c_int),
        ("encoding", Encoding),
        ("coef", Coef),
        ("label", c_char_p),
        ("positive", c_char_p),
        ("offset", c_char_p),
        ("covariance", c_void_p),
        ("training", Training),
        ("mixture", Mixture),
        ("sparse", ModelSparse),
        ("classes", ModelClasses),
    ]
