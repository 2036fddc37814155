# %% [markdown]
# # Visits to the doctor, without anyone's visits
#
# The RAND health insurance experiment recorded how often people saw a doctor. Suppose that an
# insurer holds those counts and will not hand out a single one. It answers only with the *mean*
# count of at least ten people at a time, uses each person's record at most once, and adds noise. A
# researcher has the people's features and wants a model of individuals. This page plays both
# parties. It is a script, `docs/tutorial.py`; every number and figure below was printed by it.

# %%
import numpy as np
import statsmodels.api as sm
from sklearn.linear_model import PoissonRegressor
from sklearn.metrics import d2_tweedie_score
from sklearn.model_selection import train_test_split

import priorboost as pb

table = sm.datasets.randhie.load_pandas().data
visits = table.pop("mdvis").to_numpy()
X = (table - table.mean()) / table.std()
X_train, X_test, y_train, y_test = train_test_split(X, visits, test_size=0.25, random_state=0)
print(f"{len(X_train)} people to learn from, {len(X_test)} to test on, features:")
print(", ".join(X.columns))
print(f"visits: mean {visits.mean():.2f}, largest {visits.max():.0f}")

# %% [markdown]
# ## The label holder
#
# The insurer fixes its rules before the first question: bags of at least ten people; counts above
# 20 are taken as 20; noise that makes every answer 1-label-differentially private. `InMemoryOracle`
# is that party in one object. In practice it is a service on another machine (below).

# %%
MIN_BAG, EPSILON, BOUNDS = 10, 1, (0, 20)
oracle = pb.InMemoryOracle(
    y_train, MIN_BAG, epsilon=EPSILON, bounds=BOUNDS, step=1, clamp=True, random_state=1
)
first_bag = pb.Bags(range(10), [0, 10])
print("ten people: ", oracle.ask(0, first_bag))
for what, bag in [("one person", pb.Bags([77], [0, 1])), ("again", first_bag)]:
    try:
        oracle.ask(0, bag)
    except pb.PrivacyError as refusal:
        print(f"{what}: {refusal}")
print("people spent:", oracle.rows_spent)

# %% [markdown]
# (`random_state` makes this page reproducible: the noise is simulated, and `fit` warns of that.
# Without it, noise comes from the operating system.)
#
# ## The researcher plans
#
# How much the answers say depends on the features, the bags and the noise, not on the labels. So
# the researcher can forecast every way of asking before a label is spent. The forecast is the
# loss above that of the best model, if the model is right (*excess*) and if it is somewhat wrong
# (*cautious*). The plan recommends the way of asking with the smallest worst ratio to the best.

# %%
plan = pb.plan(
    X_train, MIN_BAG, family="poisson", epsilon=EPSILON, bounds=BOUNDS, step=1, mean=visits.mean()
)
print(f"{'estimator':10} {'bags':9} {'rounds':>6} {'size':>5} {'excess':>8} {'cautious':>9}")
for point in sorted(plan.points, key=lambda p: p.excess)[:6]:
    print(
        f"{point.estimator:10} {point.bags:9} {point.rounds:6} {point.bag_size:5} "
        f"{point.excess:8.4f} {point.cautious:9.4f}"
    )
best = plan.best
print("recommended:", best.estimator, "estimator,", best.bags, "bags of", best.bag_size)
print("because", plan.reason)

# %% [markdown]
# ## The researcher learns
#
# An estimator without further parameters follows the plan. It sees only the oracle's answers. The
# model that has every label is fitted for comparison.


# %%
def fresh_oracle(seed, min_bag=MIN_BAG, epsilon=EPSILON):
    """Return the same insurer again, before any label is spent."""
    return pb.InMemoryOracle(
        y_train, min_bag, epsilon=epsilon, bounds=BOUNDS, step=1, clamp=True, random_state=seed
    )


model = pb.PriorBoostPoissonRegressor(random_state=0).fit(X_train, oracle=fresh_oracle(2))
all_labels = PoissonRegressor(alpha=0, max_iter=1000).fit(X_train, np.minimum(y_train, 20))
error = np.sqrt(np.diag(model.covariance_))[:-1]
print(f"{'':8} {'bags of 10+, noise':>22} {'all labels':>12}")
for name, weight, e, full in zip(X.columns, model.coef_, error, all_labels.coef_, strict=True):
    print(f"{name:8} {weight:14.3f} ± {1.96 * e:.3f} {full:12.3f}")


def d2(predicted):
    """Return the fraction of the test deviance that is explained."""
    return d2_tweedie_score(np.minimum(y_test, 20), predicted, power=1)


print(
    f"\ndeviance explained on new people: {d2(model.predict(X_test)):.3f}, "
    f"with all labels {d2(all_labels.predict(X_test)):.3f}"
)

# %% figure: weights.svg Weights and their 95 % intervals, from noisy bags and from all labels
import matplotlib.pyplot as plt

place = np.arange(len(X.columns))
figure, axes = plt.subplots(figsize=(7, 3.4), layout="constrained")
axes.errorbar(place, model.coef_, 1.96 * error, fmt="o", capsize=3, label="bags of 10+, ε = 1")
axes.plot(place, all_labels.coef_, "x", color="black", label="all labels")
axes.axhline(0, color="0.8", zorder=0)
axes.set_xticks(place, X.columns)
axes.set_ylabel("weight")
axes.legend(frameon=False)

# %% [markdown]
# The intervals include the effects of bags and noise. `predict_interval` gives them for people:

# %%
lower, upper = model.predict_interval(X_test[:3])
for mean, low, high in zip(model.predict(X_test[:3]), lower, upper, strict=True):
    print(f"expected visits {mean:.2f}, between {low:.2f} and {high:.2f}")

# %% [markdown]
# ## What larger bags cost
#
# This compares the paper's method (event-level targets, bags of people with similar predictions)
# with the aggregate estimator on bags of similar people, as the label holder requires larger bags.

# %%
ways = {
    "paper: PriorBoost": {"algorithm": "priorboost", "rounds": 8},
    "paper: OneShot": {"algorithm": "oneshot"},
    "aggregate, feature bags": {"estimator": "aggregate", "bags": "features", "rounds": 1},
}
sizes = [4, 16, 64, 256]
explained = {
    name: [
        d2(
            pb.PriorBoostPoissonRegressor(random_state=0, **way)
            .fit(X_train, oracle=fresh_oracle(3, min_bag=k, epsilon=None))
            .predict(X_test)
        )
        for k in sizes
    ]
    for name, way in ways.items()
}
full = d2(all_labels.predict(X_test))
print(f"{'bags of':26}" + "".join(f"{k:8}" for k in sizes))
for name, values in explained.items():
    print(f"{name:26}" + "".join(f"{v:8.3f}" for v in values))
print(f"{'all labels':26}{full:8.3f}")

# %% figure: bag_size.svg Deviance explained on new people, by the least size of a bag (no noise)
figure, axes = plt.subplots(figsize=(7, 3.4), layout="constrained")
for name, values in explained.items():
    axes.plot(sizes, values, "o-", label=name)
axes.axhline(full, color="black", linestyle=":", label="all labels")
axes.set_xscale("log", base=2)
axes.set_xticks(sizes, sizes)
axes.set_xlabel("least people in a bag")
axes.set_ylabel("deviance explained")
axes.legend(frameon=False)

# %% [markdown]
# ## What privacy costs
#
# The same for other values of ε, with three draws of the noise each. If the noise is too large, the
# model stays close to a constant and the fit warns; these warnings are counted here.

# %%
import warnings

epsilons = [0.1, 0.3, 1, 3, 10]
worth = []
for e in epsilons:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fits = [
            pb.PriorBoostPoissonRegressor(random_state=0)
            .fit(X_train, oracle=fresh_oracle(seed, epsilon=e))
            .predict(X_test)
            for seed in range(3)
        ]
    worth.append(np.mean([d2(predicted) for predicted in fits]))
    count = sum("the noise is simulated" not in str(w.message) for w in caught)
    print(f"ε = {e:4}: {worth[-1]:.3f} of the deviance explained, {count} warnings in 3 draws")

# %% figure: privacy.svg Deviance explained on new people, by ε (bags of 10 and more)
figure, axes = plt.subplots(figsize=(7, 3.4), layout="constrained")
axes.plot(epsilons, worth, "o-")
axes.axhline(full, color="black", linestyle=":", label="all labels")
axes.set_xscale("log")
axes.set_xticks(epsilons, epsilons)
axes.minorticks_off()
axes.set_xlabel("ε per person")
axes.set_ylabel("deviance explained")
axes.legend(frameon=False)

# %% [markdown]
# ## Two machines
#
# In practice the labels are on another machine. The insurer runs
#
# ```
# store=sqlite:visits.db
# priorboost oracle init --store $store --min-bag 10 --epsilon 1 --bounds 0,20 --step 1
# priorboost oracle import --store $store --data visits.csv --id person --label visits --clamp
# priorboost oracle token create --store $store --name researcher
# priorboost serve --store $store --listen 0.0.0.0:8443 --tls-cert cert.pem --tls-key key.pem
# ```
#
# and the researcher, with the token in a file, only changes the oracle:
#
# ```python
# oracle = pb.RemoteOracle(
#     "https://visits.example.org:8443", token_file="token.txt", checkpoint="asked"
# )
# model = pb.PriorBoostPoissonRegressor(random_state=0).fit(X, oracle=oracle, ids=person)
# ```
#
# The folder `asked` keeps every question and answer. If a run is interrupted, start it again: it
# takes the answers from there and asks about the rest, and no label is used twice. If the token has
# too few rows left for the whole training, `fit` raises `PrivacyError` before it asks.
#
# ## The model as a file

# %%
import pathlib
import tempfile

path = pathlib.Path(tempfile.mkdtemp()) / "visits.json"
model.save(path)
again = pb.load_model(path)
assert (again.predict(X_test) == model.predict(X_test)).all()
print({name: again.training[name] for name in ("estimator", "bags", "min_bag", "rows_spent")})

# %% [markdown]
# `priorboost predict --model visits.json --data people.csv` reads the same file.
