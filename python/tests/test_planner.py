"""What k and epsilon cost, as the program says it, and as a table."""

import math

import numpy as np
import pytest

import priorboost as pb

X = np.random.default_rng(3).normal(size=(3000, 4))
HOW = {"family": "logistic", "bounds": (0, 1), "mean": 0.2, "random_state": 0, "n_jobs": 1}


def test_costs_are_those_of_the_program(cli, tmp_path):
    np.save(tmp_path / "x.npy", X)
    options = "--family logistic --min-bag 8,4000,64 --epsilon none,1,0.3 --bounds 0,1 --mean 0.2"
    said = cli(
        "plan", "--data", tmp_path / "x.npy", *options.split(), "--target", "5%", "--threads", 1
    )
    costs = pb.plan_costs(X, [8, 4000, 64], epsilon=[None, 1, "0.3"], target=0.05, **HOW)
    assert len(costs) == len(said["costs"]) == 9
    for cost, row in zip(costs, said["costs"], strict=True):
        for name, value in row.items():
            if isinstance(value, float):
                assert getattr(cost, name) == pytest.approx(value, rel=1e-9), name
            elif value is not None:
                assert getattr(cost, name) == value, name
    assert [c.possible for c in costs] == 3 * [True] + 3 * [False] + 3 * [True]
    for i, row in enumerate(said["targets"]):
        least = costs[3 * i].least_epsilon
        assert row["least_epsilon"] == (least if math.isfinite(least) else None)
    assert said["measure"] == costs[0].measure_name == "auc"
    assert said["loss_constant"] == pytest.approx(costs[0].loss_constant)
    assert said["measure_all_labels"] == pytest.approx(costs[0].measure_all_labels)


def test_one_pair_is_that_of_the_plan():
    plan = pb.plan(X, 8, epsilon=1, **HOW)
    (cost,) = pb.plan_costs(X, 8, epsilon=1, **HOW)
    assert repr(plan.cost) == repr(cost)  # NaN is not equal to itself
    assert cost.bag_size == plan.best.bag_size
    assert cost.excess == plan.best.excess
    assert math.isnan(cost.rows_needed)
    assert math.isnan(cost.least_epsilon)


def test_costs_make_a_data_frame():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(pb.plan_costs(X, [8, 32], epsilon=[1, None], **HOW))
    assert list(frame["min_bag"]) == [8, 8, 32, 32]
    assert (frame["kept"] < 1).all()
    assert (frame["loss"] < frame["loss_constant"]).all()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"min_bag": []}, "min_bag is empty"),
        ({"min_bag": [8, 0]}, "min_bag is 0"),
        ({"min_bag": 8, "epsilon": [1, 0]}, "epsilon is 0"),
        ({"min_bag": 8, "target": 5}, "target is 5; it must be above 0 and below 1, such as 0.05"),
        ({"min_bag": 8, "target": 0}, "target is 0"),
        ({"min_bag": [4000, 5000]}, "min_bag is 4000, but the table has 3000 rows"),
        ({"min_bag": 8, "epsilon": [None, 1], "bounds": None}, "epsilon needs bounds"),
        ({"min_bag": 8, "fit_intercept": False}, "mean cannot be used with fit_intercept=False"),
    ],
)
def test_wrong_costs_are_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        pb.plan_costs(X, **(HOW | wrong))
