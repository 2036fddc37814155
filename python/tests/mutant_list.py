"""The guards of the Python package, and the tests that must fail without them; see mutants.py."""

# Tests, as pytest selects them; then by file of the package: name, guard, and what replaces it,
# where that is not "if False:".
MUTANTS = {
    "test_interrupt.py": {
        "relay.py": [
            ("C does not stop", "return self.error is not None  #", "return False  #"),
            (
                "an exception in a callback is forgotten",
                "            self.error = error\n        self._in_python",
                "            pass\n        self._in_python",
            ),
            (
                "the handler is not put back",
                "signal.signal(signal.SIGINT, self._handler)\n",
                "pass\n",
            ),
            (
                "a signal between calls is lost",
                "        if kind is None:\n            self.release()",
                "        pass",
            ),
        ],
        "training.py": [
            (
                "a simulation is not watched",
                "how.fit.cancel = how.trainer.cancel = ctypes.addressof(relay.cancel)",
                "pass",
            ),
            (
                "a run is not watched",
                "self.cancel = ctypes.addressof(relay.cancel)\n        self.divided",
                "self.divided",
            ),
            ("a fit of a run is not watched", "fit.cancel = settings.cancel", "pass"),
        ],
        "planner.py": [
            (
                "a plan is not watched",
                "            options.cancel = ctypes.addressof(relay.cancel)",
                "            pass",
            ),
            (
                "an automatic run's plan is not watched",
                "self._options.cancel = ctypes.addressof(relay.cancel)",
                "pass",
            ),
        ],
        "bags.py": [
            (
                "feature bags are not watched",
                "samples, k, threads, relay.cancel",
                "samples, k, threads, None",
            ),
            ("bags are not freed after Ctrl-C", "lib.bags_free(out)  #", "pass  #"),
        ],
    },
    "test_group.py": {
        "group.py": [
            ("a bag has rows of two oracles", "if mixed.size:", "if False:"),
            ("rules of several oracles differ", "if first.get(rule) != config.get(rule):", "if 0:"),
            ("the least k of several oracles", "max(asker.min_bag", "min(asker.min_bag"),
            ("bags are kept for some oracles only", "self._keep(round, questions)", "pass"),
            ("an oracle that fails stops the others", "errors.append(", "raise ("),
            ("an oracle is shown ids of others", "else wanted == number", "else wanted >= 0"),
            ("a row that no oracle has", "if unknown.size:", "if False:"),
            ("two oracles share a head", "if len(set(files)) < len(files):", "if False:"),
        ],
        "training.py": [
            ("bags of several oracles are mixed", "self.part, self.parts = ", "_ = "),
        ],
    },
    "test_remote.py": {
        "remote.py": [
            ("a reply about other bags is taken", "sizes != [len(bag) for bag in bags]", "False"),
            ("a reply to another question is taken", "named != name or ", ""),
            (
                "an oracle of several numbers is asked for means",
                "if self.kind not in kinds:",
            ),
            (
                "a mean that is not a number is taken",
                '        if bad:\n            raise OracleError(f"the oracle answered',
                '        if False:\n            raise OracleError(f"the oracle answered',
            ),
            (
                "a reply of any shape is read",
                "except (KeyError, TypeError, ValueError, OverflowError)",
                "except ZeroDivisionError",
            ),
            ("the token is not encrypted", "parts.hostname in _LOOPBACK", "True"),
            ("the head is not sent on", 'request["head"] = self.head', "pass"),
            (
                "the head of an earlier fit is not sent",
                "self.head = read_head(description.token_file)",
                "self.head = None",
            ),
            (
                "the head is not kept",
                "keep_head(self.description.token_file, head)",
                "pass",
            ),
            (
                "ids are not asked for",
                'if ids is None:\n            raise ValueError("a Remote',
                'if False:\n            raise ValueError("a Remote',
            ),
            (
                "a refusal is no PrivacyError",
                "raise PrivacyError(text) if problem in _RULES else ",
                "raise ",
            ),
            ("nothing is tried again", "if time.monotonic() + pause > deadline:", "if True:"),
            ("429 is no reply to wait after", " and status != 429", ""),
            ("the client's certificate is not shown", "context.load_cert_chain(cert, key)", "pass"),
            ("long rounds are sent whole", "if question and size + length > room:"),
            ("spent rows are not left out", "if rows is None and self.skip_unavailable:"),
            (
                "a question is sent before it is kept",
                "self.checkpoint.keep_questions(round, questions)",
                "pass",
            ),
            ("an answer is not kept", "self.checkpoint.keep_answer(round, part, reply)", "pass"),
            ("a round is cut again", "            return kept\n", "            pass\n"),
            (
                "other bags get the answers that are kept",
                "if [bag for question in kept for bag in question] != wanted:",
            ),
            ("the quota is not looked at", "if rows > left:"),
            (
                "rows that were spent before count twice",
                "int(self.description.available(own).sum())",
                "len(self.ids)",
            ),
            ("no warning about units", "if asker.units and not by_unit:"),
            ("a port without TLS is tried again", 'if getattr(error, "reason", None) in _NO_TLS:'),
            ("another name is another authority", "if error.verify_code in _OTHER_NAME:"),
            ("no warning about the token", "if stat.S_ISREG(mode) and mode & 0o077:"),
        ],
        "heads.py": [
            ("an empty token is sent", "if not token:"),
        ],
        "checkpoint.py": [
            ("another run's answers are taken", "if kept.get(name) == value:", "if True:"),
            (
                "another table's answers are taken",
                "if not isinstance(X, np.ndarray):",
                "if True:",
            ),
            (
                "rows are not put in their order",
                '[position[text] for text in self._read("rows")]',
                "range(len(ids))",
            ),
            ("files can be read by others", "os.open(p, f, 0o600)", "os.open(p, f, 0o644)"),
            ("the folder can be read by others", "mode=0o700", "mode=0o755"),
            (
                "an unfinished file stays",
                "            unfinished.unlink()",
                "            pass",
            ),
        ],
        "training.py": [
            ("bags are made again", "                run.recall(bags)\n", "                pass\n"),
        ],
        "records.py": [
            (
                "anything is an oracle",
                "not isinstance(oracle, (Oracle, RemoteOracle, RemoteOracles))",
                "False",
            ),
        ],
        "data.py": [
            ("units are not looked at", "np.unique(unit[rows], return_index=True)[1]", ":"),
        ],
        "meta.py": [
            (
                "the meta-estimator ignores units",
                "None if unit is None else number_names",
                "None if True else number_names",
            ),
        ],
    },
    "test_cli.py -k unit": {
        "data.py": [
            ("a unit's row depends on the order of rows", "if keys is not None:"),
        ],
    },
    "test_fit_warnings.py": {
        "fit_warnings.py": [
            ("a fit that did not converge is like any other", "_library.UNUSABLE", "-1"),
            ("columns have no names", "if names is not None:"),
        ],
        "glm.py": [
            ("nothing is warned of", "if result.outcome.warnings:"),
            ("no warning of single rows", "int((persons == 1).sum())", "0"),
        ],
        "planner.py": [
            ("a plan does not warn", "for text in result.warnings:", "for text in []:"),
        ],
    },
    "test_fitted.py": {
        "fitted.py": [
            ("a fit that failed is a fit", 'return "_fitted" in vars(self)', "return True"),
        ],
        "training.py": [
            ("a copy has no numbers", "ctypes.memmove(out._memory, memory", "(out._memory, memory"),
            (
                "a covariance that does not exist",
                "if self.report.estimator != _library.AGGREGATE or not self.outcome.covariance:",
            ),
        ],
    },
    "test_habits.py": {
        "records.py": [
            ("labels from two sides are taken", "if sources > 1:"),
            ("labels from nobody are taken", "if sources == 0:"),
        ],
        "fitted.py": [
            ("intervals without a covariance", "if self.covariance_ is None:"),
        ],
        "glm.py": [
            ("True is taken for a remembered 1", "type(self.rounds), ", ""),
            (
                "a state's first seed is remembered",
                "if self.random_state is None or isinstance(self.random_state, int):",
                "if True:",
            ),
            ("methods that contradict", 'if method == "auto" and of_paper is not None:'),
            ("an unknown method", "if method not in (None, *DEFAULT_ESTIMATOR):"),
            ("simulated noise gives no warning", 'if result.record["simulated"]:'),
            (
                "a seed of the learner's for another party's noise",
                "return self._train(table, interface, relay, simulated)",
                "return self._train(table, interface, relay, seed_of(self.random_state)[0])",
            ),
            (
                "what is set is not kept",
                "rules, fit, settings, fixed, relay\n",
                "rules, fit, settings, _library.Fixed(), relay\n",
            ),
        ],
        "parameters.py": [
            (
                "oneshot with bags of another kind",
                'if oneshot and self.bags not in (None, "random"):',
            ),
            ("rounded answers for any estimator", 'if rounded and name != "event":'),
            ("cv for any estimator", 'if self.l2 == "cv" and name != "aggregate":'),
            (
                "rho for any estimator",
                "if self.rho is not None and name not in",
                "if False and name not in",
            ),
            ("any covariance", "if self.covariance not in _COVARIANCES:"),
        ],
        "options.py": [
            ("noise without bounds", "if den and bounds is None:"),
            ("a step without bounds", "if step is not None and bounds is None:"),
            ("a negative penalty", "math.isfinite(value) and value >= 0", "True"),
            ("no threads", "if n_jobs == 0:"),
            ("threads that are not a number", "if not isinstance(n_jobs, numbers.Integral):"),
            ("a seed of any size", "if not 0 <= seed < 2**64:"),
            (
                "counts of any kind",
                "isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < 1",
                "False",
            ),
        ],
        "data.py": [
            ("weights below zero", "out.min() < 0.0", "False"),
            ("numbers that are not one per row", "if out.shape != (n_rows,):"),
            ("one class", "if len(classes) < 2:"),
            ("many classes", "if type_of_target(y) not in possible:"),
            ("labels of another length", "and len(y) == n_rows", ""),
            ("a table of one row", "rows >= min_rows and ", ""),
        ],
        "sklearn.py": [
            ("negative counts", "if labels.size and labels.min() < 0:"),
        ],
        "models.py": [
            ("a prior without predictions", 'if not hasattr(prior, "predict"):'),
            ("a prior that predicts NaN", " or not np.isfinite(scores).all()", ""),
        ],
        "columns.py": [
            ("winsorizing at nothing", "if not (z > 0.0 and math.isfinite(z)):"),
        ],
    },
    "test_data.py": {
        "data.py": [
            ("NaN in what is predicted", "(not finite or _is_finite(X))", "True"),
            ("NaN said in our words", "    if not _is_finite(X):\n", "    if False:\n"),
            ("columns of another order", "if expected is not None and expected.tolist() != names:"),
            ("columns of another number", "if len(names) != estimator.n_features_in_:"),
            (
                "ids of another number",
                'if len(values) != n_rows:\n        raise ValueError(f"there',
                'if False:\n        raise ValueError(f"there',
            ),
            (
                "ids of any kind",
                "not isinstance(value, (str, int, np.integer)):\n            raise",
                "False:\n            raise",
            ),
            ("an id twice", "if len(set(texts)) < n_rows:"),
        ],
        "arrow.py": [
            ("null cells", "if _has_nulls(column, first, n):"),
            (
                "text",
                '(kind not in _ARROW_NUMBERS and kind != "b") or field.dictionary',
                "field.dictionary",
            ),
            ("codes of categories", " or field.dictionary:", ":"),
        ],
        "_library.py": [
            ("strides are ignored", "down // size, right // size", "cols, 1"),
            (
                "a copy of the features",
                "    size = X.itemsize\n",
                "    X = X.copy()\n    global _kept\n    _kept = X\n    size = X.itemsize\n",
            ),
        ],
    },
    "test_pieces.py": {
        "bags.py": [
            ("bags that do not end", " or self.start[-1] != self.rows.size", ""),
            ("a bag that is not there", "if not -len(self) <= bag < len(self):"),
            (
                "scores for too few rows",
                "if self.rows.size and int(self.rows.max()) >= values.size:",
            ),
            ("scores in a table", "if values.ndim != 1:"),
        ],
        "oracle.py": [
            ("answers of another number", "if answers.shape != (len(question), *by_bag):"),
            ("labels of another number", "if n_rows != self.n_rows:"),
            ("an oracle is copied", "def __reduce__", "def _reduce"),
        ],
        "options.py": [
            ("an unknown family", "if not isinstance(name, str) or name not in FAMILIES:"),
        ],
        "encoding.py": [
            (
                "columns of another number",
                "if values.ndim != 2 or values.shape[1] != len(self.columns):",
            ),
        ],
    },
    "test_cli.py -k share_a_ridge": {
        "glm.py": [("levels have a ridge each", "table.share(how.fit)", "pass")],
        "training.py": [("levels have a ridge each", "self.share(fit)", "pass")],
    },
    "test_classes.py -k share_a_ridge": {
        "classes.py": [("levels have a ridge each", "table.share(fit)", "pass")],
    },
    "test_sums.py -k agree": {
        "glm.py": [("levels have a ridge each", "table.share(fit)", "pass")],
    },
    "test_cli.py -k categories": {
        "encoding.py": [("a level never seen", 'self.unseen == "error",', "False,")],
    },
    "test_sparse.py": {
        "sparse.py": [
            ("what only dense rows have", "        if value not in allowed:", "        if False:"),
            ("unsorted rows", "    if not csr.has_canonical_format:", "    if False:"),
            ("X is changed", "csr = csr.copy() if csr is X else csr", "pass"),
            ("64-bit indices", "    if indices.itemsize != 4:", "    if False:"),
            ("a model of other columns", "if X.shape[1] != self.n:"),
            ("a dense X for sparse rows", "if self.bits == 0:"),
            ("rows are not checked", "    _check(lib.sparse_check, features.x, fit.threads)\n", ""),
        ],
        "models.py": [
            (
                "an estimator that hashes",
                "if self.sparse is not None and self.sparse.bits > 0:",
            ),
        ],
        "fitted.py": [
            (
                "sparse rows for columns that change",
                "if self._encoding is not None or self.limits_"
                " is not None or self._fitted.members:",
            ),
        ],
        "glm.py": [
            ("sums of sparse rows", "if sums is not None and is_sparse(X):"),
            (
                "districts of sparse rows",
                'if (effects or rows != "all") and is_sparse(table.X):',
            ),
        ],
    },
    "test_frames.py": {
        "encoding.py": [
            (
                "ids are features",
                "if info.kind == _library.COLUMN_ID and name not in self.keep:",
            ),
            ("ids are never features", " and name not in self.keep:", ":"),
            ("empty columns are features", "if info.kind == _library.COLUMN_EMPTY:"),
            (
                "dates are categories",
                "if info.kind == _library.COLUMN_DATE and name not in self.dates:",
            ),
            ("words among numbers give no warning", "        if info.words:", "        if False:"),
            ("decimal commas give no warning", "if info.decimal_comma:"),
            ("categories that training had not give no warning", "if unseen.cells:"),
            ("any word for imputation", 'if impute not in (None, "mean"):'),
            ("any word for unseen categories", 'if unseen not in ("baseline", "error"):'),
            (
                "the program's options are advised",
                "for pattern, advice in _ADVICE:",
                "for _ in ():",
            ),
            ("parameters for data frames without one", "if named and not is_table(X):"),
            ("missing cells reach scikit-learn", "not np.isnan(values).any() and ", ""),
            ("ids among numbers are features", " and not _like_ids(values)", ""),
            ("a column is not there", "if feature.name not in names:"),
            ("extreme values are not limited", "if winsorize is not None:"),
        ],
        "tables.py": [
            ("times with a zone", "if time.tzinfo is not None:"),
            ("texts that C cuts short", 'if any("\\0" in text for text in levels):'),
            ("a column that is not there", "    if name not in names:", "    if False:"),
            ("a number is no code", "    if cells.number is None:\n", "    if True:\n"),
            (
                "a path to anything",
                "    if kind is None:\n        raise",
                "    if False:\n        raise",
            ),
        ],
        "models.py": [
            ("truth has no name", " or classes.dtype == bool", ""),
        ],
        "glm.py": [
            (
                "limits are set twice",
                "None if isinstance(encoding, Encoding) else self.winsorize",
                "self.winsorize",
            ),
            ("a prior sees the encoded table", "X if encoding is None else source", "X"),
        ],
    },
    "test_smooth.py": {
        "parameters.py": [
            ("any word is a model", "if self.model not in _MODELS:"),
            ("curves in the event estimator", 'if self.model == "smooth" and name != "aggregate":'),
        ],
        "glm.py": [
            ("curves of means", 'if rows != "all" and self.model != "glm":'),
            (
                "curves with a formula",
                "if self.formula is not None and self._has_curves():",
            ),
            (
                "functions of curves are standardised",
                "columns.leave(len(table.curve_of))",
                "pass",
            ),
            (
                "bags are made from curves",
                "given = table.straight, table.offset",
                "given = table.X, table.offset",
            ),
        ],
        "models.py": [
            ("the curve of a straight line", "if at not in curved.values():"),
            ("a level in percent", "if not 0.0 < level < 1.0:"),
        ],
    },
    "test_formula.py": {
        "formula.py": [
            ("smooth terms", "if _SMOOTH.search(formula):"),
            ("intercepts that contradict", 'if ("Intercept" in found.columns) != intercept:'),
            ("a left side of several columns", "if values.shape[1] != 1:"),
            ("rows with missing cells are dropped", 'na_action="raise"', 'na_action="drop"'),
            ("no terms", "        if not columns:\n", "        if False:\n"),
        ],
        "fitted.py": [
            (
                "a file without the formula gives no warning",
                "if self._encoding is not None and not isinstance(self._encoding, Encoding):",
            ),
        ],
    },
    "test_weights.py": {
        "sklearn.py": [
            ("a class of weight zero", "0.0 < float(weight) < math.inf", "True"),
            ("a class that is not there", "if label not in known:"),
            ("anything is a class weight", "if not isinstance(class_weight, Mapping):"),
        ],
        "glm.py": [
            (
                "two weights",
                "if weight is not None and sample_weight is not None:",
            ),
        ],
        "data.py": [
            ("no row has a weight", "if out is not None and out.size and out.max() == 0.0:"),
        ],
        "oracle.py": [
            ("labels that were used are asked about", "if self.rows_spent:"),
        ],
    },
    "test_classes.py": {
        "classes.py": [
            ("parameters of two classes", "if not (value is default or value == default):"),
            (
                "an estimator without classes",
                'if estimator.estimator not in (None, "aggregate", "event"):',
            ),
            (
                "weights of classes with trees",
                'if estimator.model in ("trees", "auto") and estimator.class_weight is not None:',
            ),
            ("warnings of classes", "for warning in found[:n]:", "for warning in ():"),
            ("larger bags under noise", "settings.bag_size = asked.bag_size", "pass"),
            ("noise of one count", "_check(lib.rules_number, one, rules, 0)", "pass"),
        ],
        "sklearn.py": [
            ("an offset in a prediction of classes", "if extra is not None:"),
            ("weights of several classes", "result.path[:, :, -1] += result.class_shift", "pass"),
            ("the base of standard errors", "np.append(base, errors)", "np.append(errors, base)"),
        ],
        "columns.py": [
            (
                "classes in the units of X",
                "result.path.reshape(-1, n)",
                "result.path.reshape(-1, n)[:1]",
            ),
            (
                "errors of classes in the units of X",
                "np.split(whole, len(whole) // n)",
                "np.split(whole, len(whole) // n)[:1]",
            ),
        ],
    },
    "test_several.py": {
        "several.py": [
            ("what one label has", "if getattr(template, name) not in possible:"),
            ("estimators for columns", "if given is not None and len(given) != n:"),
            ("different bags", "if len(sizes) > 1:"),
            ("bounds of some columns", "if bounds and len(bounds) < len(columns):"),
            ("shares of columns", "if len(shares) != len(columns):"),
            ("Y of one dimension", "if values.ndim != 2:"),
            ("rows of Y", "if n_rows != len(self.oracle.labels):"),
            ("labels from nowhere", "if (Y is None) == (oracle is None):"),
            ("every column asks", "if self.answers is None or self.bags is None:", "if True:"),
        ],
        "remote.py": [
            ("answers of another kind", "if self.kind not in kinds:"),
            ("the kind is not said", 'request["answer"] = self.kind', "pass"),
        ],
        "given.py": [
            ("counts of another sum", "if not noisy and abs(total - whole) > 1e-6 * whole:"),
            ("negative counts", "if not noisy and (row < 0).any():"),
        ],
    },
    "test_convert.py": {
        "convert.py": [
            ("single precision is rounded", "return pa.float64()", "return kind"),
            (
                "NaN is written",
                "return pc.if_else(pc.is_nan(column), None, column)",
                "return column",
            ),
            (
                "any type is written",
                "    raise ValueError(\n        f\"column '{field.name}' has the type",
                "    return kind\n    raise ValueError(\n        f\"column '{field.name}'",
            ),
            (
                "local times lose their zone",
                'if kind.tz is not None and kind.tz.upper() not in ("UTC", "+00:00"):',
            ),
            ("a draft stays", "Path(draft).unlink(missing_ok=True)", "pass"),
            (
                "the file is written in place",
                "Path(draft).replace(path)\n",
                "path.write_bytes(Path(draft).read_bytes())\n",
            ),
        ],
    },
    "test_given.py": {
        "given.py": [
            ("a bag without rows", "if bag not in number:"),
            ("a bag with two answers", "if bag in seen:"),
            ("a bag of another size", "if count is not None and count != size:"),
            ("a bag of no rows", "if not count[i] > 0:"),
            (
                "a sum that is not the mean's",
                "if abs(total[i] / count[i] - value) > 1e-6 * (abs(value) + 1e-6):",
            ),
            (
                "means without counts give no warning",
                'if not hasattr(answers, "columns"):\n        warn',
                "if False:\n        warn",
            ),
            (
                "a mean that is not a number",
                "if not np.isfinite(value) or not 0.0 <= variance < np.inf:",
            ),
            ("a mean that no labels have", "if variance == 0.0 and not lower <= value <= upper:"),
            ("a bag without an answer", "    if missing:\n", "    if False:\n"),
            ("the column of bags has one name only", "for name in (bag_column, ", "for name in ("),
        ],
        "data.py": [
            (
                "bags of another number of rows",
                'if len(values) != n_rows:\n        raise ValueError(f"{what}',
                'if False:\n        raise ValueError(f"{what}',
            ),
            (
                "names of any kind",
                "if isinstance(name, bool) or not isinstance(name, (str, int, np.integer)):",
            ),
        ],
        "records.py": [
            ("parameters with nothing to ask", "if getattr(estimator, name) is not None:"),
            ("bags without answers", "if (bag is None) != (answers is None):"),
            (
                "units with nothing to ask",
                "        if unit is not None:\n            raise",
                "        if False:\n            raise",
            ),
        ],
    },
    "test_districts.py": {
        "districts.py": [
            ("no such rows", "if rows not in ROWS:"),
            (
                "rows without bags",
                'if not given and (rows != "all" or effects is not None):',
            ),
            ("deviations without means", 'if sd is not None and rows != "means":'),
            ("effects by a word", "if effects not in (None, True, False):"),
            ("deviations of no feature", "if name not in known:"),
            ("deviations of other rows", "if values.shape != shape[:1]:"),
            ("deviations of another shape", "if values.shape != shape:\n", "if False:\n"),
            (
                "deviations that are none",
                "if not (out >= 0.0).all() or np.isinf(out).any():",
            ),
            ("samples that show nothing", "    if limited.value:\n", "    if False:\n"),
            ("samples that show little", "if fraction[worst] > _LARGE_FRACTION:"),
            (
                "samples are not calibrated",
                "sample_warnings = _calibrate(",
                "sample_warnings = [] and _calibrate(",
            ),
            ("samples of counts", 'if family == "poisson":'),
            ("deviations of scaled columns", "if scale is not None:"),
            (
                "rows stand for one person each",
                "persons / sizes, sizes",
                "persons / persons, sizes",
            ),
        ],
        "given.py": [
            ("persons are not counted", "    if count is None:\n", "    if False:\n"),
            ("several rows of means", 'if rows == "means" and size != 1:'),
            (
                "a sample of one",
                'if rows == "sample" and (count < size or (size == 1 and count > 1)):',
            ),
        ],
        "glm.py": [
            ("trees on means", 'if rows != "all" and self.model != "glm":'),
            ("trees with effects", "if effects and self._has_trees():"),
            (
                "effects without aggregate",
                'if (effects or rows != "all") and fit.estimator',
                "if False and fit.estimator",
            ),
        ],
    },
    "test_objective.py -k 'refused or dispersion or bounds or noisy or fixed or mean'": {
        "objective.py": [
            (
                "the diagonal is the curvature",
                "np.repeat(np.add.reduceat(v, self._first) * inverse, self._sizes)",
                "v * np.repeat(inverse, self._sizes)",
            ),
            ("noise does not count", "if not self.noise.any():", "if True:"),
            (
                "a dispersion of 0",
                "phi = max(phi, math.sqrt(spread) / float(np.sum(own / variance)))",
                "pass",
            ),
            (
                "a mean that has no logit",
                "min(max(mean, lower + margin), upper - margin)",
                "mean",
            ),
            ("predictions for too few rows", "if len(by_row) <= self._rows.max():"),
            ("answers of another number", "if means.shape != (len(bags),) or not len(bags):"),
            ("a bag without rows", "if not bags.sizes.min():"),
            (
                "answers that are no numbers",
                "if not (np.isfinite(means).all() and np.isfinite(noise).all() "
                "and noise.min() >= 0.0):",
            ),
            ("answers that no labels have", "    if wrong.size:\n", "    if False:\n"),
        ],
        "boosters.py": [
            ("any objective", "if callable(objective) or objective not in families:"),
            ("no warning of a mean", "        if not self.n_trees:\n", "        if False:\n"),
        ],
        "meta.py": [
            ("rounded answers are fitted", "if learner.family is not None and rules.round:"),
            ("one fold", "if folds == 1:"),
        ],
    },
    "spark/test_spark_with_service.py -k 'lies or refused'": {
        "spark/asking.py": [
            ("the head is forgotten", "self.head = reply[32:64].hex()", "pass"),
            (
                "an answer about other bags",
                'if not np.array_equal(np.frombuffer(reply, "<u4", n, at + 8 * n * width), sizes):',
            ),
            (
                "counts are taken for means",
                'if (reply[6], *struct.unpack("<I", reply[12:16])) != (ANSWERS[kind], layout[1]):',
            ),
            ("an oracle of several numbers is asked for means", "(kind,))", "(kind, 'classes'))"),
        ],
    },
    "spark/test_spark_sparse.py -k wrong_rows": {
        "spark/wide.py": [
            (
                "rows of other widths",
                "np.where(dense, many, size) != d",
                "np.zeros(len(many), bool)",
            ),
            (
                "a feature that is infinite",
                'refuse(bad, "has a feature that is not a finite number")',
                "bad[:] = False",
            ),
            ("an index that is too large", "(column >= 0) & (column < d)", "column >= 0"),
            ("an index twice", "np.diff(column) > 0", "np.diff(column) >= 0"),
            ("a null vector", "if vectors.null_count > 0:"),
            ("a label that is null", "if not np.isfinite(rows.answer).all():"),
        ],
    },
    "spark/test_spark_input.py -k 'blocks or its_bag or they_are or same_key'": {
        "spark/flow.py": [
            ("an id of two rows", "            if n > 1:\n", "            if False:\n"),
            (
                "two ids of one key",
                "Counter(name for _, name in found)",
                "Counter(key for key, _ in found)",
            ),
        ],
        "spark/stages.py": [
            ("equal scores are of one bag", "high[tied] = low", "pass"),
            ("features are sent", '(("x",) if "x" in how.names else ())', '("x",)'),
            ("rows of other slices", "rows if keep.all() else", "rows if True else"),
        ],
    },
    "spark/test_spark_files.py -k 'repeated or wanted or cannot_find'": {
        "spark/files.py": [
            (
                "a file before it is whole",
                'temporary = f"{folder}/{uuid.uuid4().hex}"',
                "temporary = _name(folder, task.partitionId())",
            ),
            ("a file that is not there", "except FileNotFoundError:", "except ZeroDivisionError:"),
            ("blocks of other tasks", "if self.wanted is None else", "if True else"),
        ],
    },
    "test_weights.py -k threshold": {
        "sklearn.py": [
            (
                "any threshold",
                "if not isinstance(self.threshold, numbers.Real) "
                "or not 0.0 < self.threshold < 1.0:",
            ),
        ],
    },
    "test_sums.py": {
        "sums.py": [
            ("sums of any form", "if not is_table(sums):"),
            ("a sum and a mean, or neither", "if len(given) != 1:"),
            ("a key that rows do not have", "if name not in found:", "if name == 0:"),
            (
                "two sums with the same keys",
                "if key in of_pattern:\n                raise",
                "if False:\n                raise",
            ),
            ("a sum of other rows", "if count is not None and count[i] != n:"),
            ("a sum of no rows", "if count is None and n == 0:"),
            (
                "a negative variance",
                "if not 0.0 <= variance[i] < np.inf or not np.isfinite(self._given()[i]):",
            ),
            ("a sum that no labels have", "if wrong.size:"),
            ("labels of other rows", "if values.shape != (n_rows,):"),
            ("labels of another family", "if bad.any():"),
            (
                "the sum is not named",
                "if said is None or int(said[1]) >= len(self.kept):",
                "if True:",
            ),
        ],
        "records.py": [
            (
                "sums and answers",
                "if oracle is not None or answers is not None or bag is not None:",
            ),
        ],
        "glm.py": [
            (
                "curves or trees of sums",
                '        if self.model != "glm":\n            raise ValueError(f"sums',
                '        if False:\n            raise ValueError(f"sums',
            ),
            (
                "another estimator of sums",
                'if fit.estimator != choice("estimator", "aggregate"):\n            raise'
                ' ValueError(\n                "sums',
                'if False:\n            raise ValueError(\n                "sums',
            ),
        ],
    },
    "test_library.py": {
        "_library.py": [
            ("a failure is not seen", "    if status:\n", "    if False:\n"),
        ],
    },
}
