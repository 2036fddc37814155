"""Both parties in one process: an oracle with rules, a learner that sees only its answers."""

import numpy as np

import priorboost as pb

rng = np.random.default_rng(0)
X = rng.normal(size=(20000, 5))
y = rng.random(20000) < 1 / (1 + np.exp(-X @ [1.5, -1.0, 0.5, 0.0, 0.25]))
X_test, y_test = X[15000:], y[15000:]

# The label holder: means of at least 32 people, each once, with noise.
oracle = pb.InMemoryOracle(
    y[:15000].astype(float), 32, epsilon=1, bounds=(0, 1), step=1, random_state=0
)

# The learner: plans, asks, fits.
model = pb.PriorBoostClassifier(random_state=0).fit(X[:15000], oracle=oracle)
print("weights", np.round(model.coef_, 2), "accuracy", round(model.score(X_test, y_test), 3))
print("people spent:", oracle.rows_spent)

try:
    oracle.ask(0, pb.Bags(range(32), [0, 32]))
except pb.PrivacyError as refusal:
    print("asked again:", refusal)

assert model.score(X_test, y_test) > 0.75
assert oracle.rows_spent == 15000
