"""Trains with the package that is installed and says where it is; see wheel.sh."""

import numpy as np

import priorboost as pb

random = np.random.default_rng(1)
X = random.normal(size=(5000, 3))
y = X @ [1.0, -2.0, 0.5] + random.normal(size=5000)
model = pb.PriorBoostRegressor(min_bag=5, rounds=2).fit(X, y)
print(f"coefficients {np.round(model.coef_, 2).tolist()} by {pb.__file__}")
assert np.allclose(model.coef_, [1.0, -2.0, 0.5], atol=0.15), model.coef_
