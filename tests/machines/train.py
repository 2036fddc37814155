"""Trains with the package that is installed and says which library it uses; see wheel.sh."""

import numpy as np

import priorboost as pb
from priorboost._library import lib

random = np.random.default_rng(1)
X = random.normal(size=(5000, 3))
y = X @ [1.0, -2.0, 0.5] + random.normal(size=5000)
model = pb.PriorBoostRegressor(min_bag=5, rounds=2).fit(X, y)
print(f"coefficients {np.round(model.coef_, 2).tolist()} by {lib._name}")
assert np.allclose(model.coef_, [1.0, -2.0, 0.5], atol=0.15), model.coef_
