"""Several services as one oracle: stand-ins that can misbehave."""

import numpy as np
import pytest
from conftest import make_table
from sklearn.linear_model import Ridge
from test_remote import StandIn

import priorboost as pb


@pytest.fixture
def table():
    X, y = make_table("linear", n=900)
    return X, y, [f"p{i}" for i in range(len(X))]


@pytest.fixture
def services(table):
    """Every third row is at the first service, the others at the second."""
    _, y, ids = table
    labels = dict(zip(ids, y, strict=True))
    servers = [StandIn({i: labels[i] for i in ids[::3]}),
               StandIn({i: labels[i] for i in ids if i not in set(ids[::3])})]  # fmt: skip
    yield servers
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.fixture
def members(services, tmp_path):
    made = []
    for number, server in enumerate(services):
        path = tmp_path / f"token-{number}"
        path.touch(mode=0o600)
        path.write_text("secret\n")
        made.append(pb.RemoteOracle(server.url, token_file=path, patience=0.5))
    return made


def bags_of(server):
    return [bag for reply in server.stored.values() for bag in reply["answers"]]


def test_each_is_asked_about_its_own_rows(table, services, members):
    X, y, ids = table
    model = pb.PriorBoostRegressor(rounds=4).fit(X, oracle=pb.RemoteOracles(members), ids=ids)
    assert model.score(X, y) > 0.9
    for server in services:  # a bag with a row of the other would have failed there
        assert server.spent == set(server.labels)
        assert min(bag["size"] for bag in bags_of(server)) >= 4


@pytest.mark.parametrize("learner", ["meta", "sparse", "automatic"])
def test_all_learners(table, services, members, learner):
    scipy = pytest.importorskip("scipy.sparse")
    X, y, ids = table
    oracle = pb.RemoteOracles(members)
    if learner == "meta":
        model = pb.PriorBoost(Ridge(), rounds=4).fit(X, oracle=oracle, ids=ids)
        assert model.score(X, y) > 0.9
    elif learner == "sparse":
        pb.PriorBoostRegressor(rounds=2).fit(scipy.csr_matrix(X), oracle=oracle, ids=ids)
    else:
        pb.PriorBoostRegressor(method="auto").fit(X, oracle=oracle, ids=ids)
    for server in services:
        assert server.spent == set(server.labels)


def test_the_ids_of_one_are_not_shown_to_another(table, services, members):
    X, _, ids = table
    number = {name: int(name not in services[0].labels) for name in ids}
    first = pb.PriorBoostRegressor(rounds=2).fit(X, oracle=pb.RemoteOracles(members), ids=ids)
    assert services[0].shown == set(ids)
    for server in services:
        server.spent, server.shown, server.stored = set(), set(), {}
    oracle = pb.RemoteOracles(members, oracle_of=number)
    second = pb.PriorBoostRegressor(rounds=2).fit(X, oracle=oracle, ids=ids)
    assert np.array_equal(first.coef_, second.coef_)
    for server in services:
        assert server.shown == set(server.labels)
    del number["p7"]
    oracle = pb.RemoteOracles(members, oracle_of=number)
    with pytest.raises(ValueError, match="None for id 'p7'; it must have the number of a member"):
        pb.PriorBoostRegressor(rounds=2).fit(X, oracle=oracle, ids=ids)


def test_rows_that_none_has(table, services, members):
    X, _, ids = table
    del services[1].labels["p7"]
    learner = pb.PriorBoostRegressor(rounds=2)
    with pytest.raises(pb.PrivacyError, match=r"1 of 900 rows are spent or unknown.*'p7'"):
        learner.fit(X, oracle=pb.RemoteOracles(members), ids=ids)
    assert not services[0].spent
    learner.fit(X, oracle=pb.RemoteOracles(members, skip_unavailable=True), ids=ids)
    assert services[1].spent == set(services[1].labels)


def test_rules_must_go_together(table, services, members):
    X, _, ids = table
    oracle = pb.RemoteOracles(members)
    for rule, value in (("upper", 30.0), ("step", 2.0**-10), ("answer", "classes")):
        services[1].config = {rule: value}
        with pytest.raises((pb.PrivacyError, pb.OracleError), match=f"{rule} is|answers with"):
            pb.PriorBoostRegressor(rounds=2).fit(X, oracle=oracle, ids=ids)
        assert not services[0].spent
    services[1].config = {"dp": True, "epsilon": 1.0, "epsilon_fraction": "1/1"}
    with pytest.raises(pb.PrivacyError, match=r"different rules: .* is .* at http"):
        pb.PriorBoostRegressor(rounds=2).fit(X, oracle=oracle, ids=ids)
    services[1].config = {"min_bag": 9}
    model = pb.PriorBoostRegressor(rounds=2).fit(X, oracle=oracle, ids=ids)
    assert model.training_["min_bag"] == 9
    assert min(bag["size"] for server in services for bag in bags_of(server)) >= 9


def test_a_dead_service(table, services, members, tmp_path):
    """What the other answered is kept, the fit goes on, and nothing is spent twice."""
    X, _, ids = table
    learner = pb.PriorBoostRegressor(rounds=4)
    whole = learner.fit(X, oracle=pb.RemoteOracles(members), ids=ids).coef_
    for server in services:
        server.spent, server.stored = set(), {}
    oracle = pb.RemoteOracles(members, checkpoint=tmp_path / "kept")
    answer, asked = services[0].answer, []

    def dying(question):
        asked.append(question)
        return answer(question) if len(asked) < 3 else (500, {"detail": "gone"})

    services[0].answer = dying
    with pytest.raises(pb.OracleError, match=f"{services[0].url}: no answer"):
        learner.fit(X, oracle=oracle, ids=ids)
    assert (len(services[0].stored), len(services[1].stored)) == (2, 3)
    services[0].answer = answer
    again = [500, *range(500), *range(501, 900)]  # the order of the rows does not matter
    learner.fit(X[again], oracle=oracle, ids=[ids[i] for i in again])
    assert np.array_equal(learner.coef_, whole)
    assert (len(services[0].stored), len(services[1].stored)) == (4, 4)
    learner.fit(X, oracle=oracle, ids=ids)  # from the checkpoint alone
    with pytest.raises(ValueError, match="belongs to another run"):
        pb.PriorBoostRegressor(rounds=3).fit(X, oracle=oracle, ids=ids)


def test_bags_are_on_the_disk_for_all_before_one_is_sent(table, services, members, tmp_path):
    X, _, ids = table
    learner, seen = pb.PriorBoostRegressor(rounds=2), []
    kept, answer = tmp_path / "kept", services[0].answer

    def look(question):
        seen.append([(kept / name).exists() for name in ("round-000000", "oracle-2/ask-000000")])
        return answer(question)

    services[0].answer = look
    learner.fit(X, oracle=pb.RemoteOracles(members, checkpoint=kept), ids=ids)
    assert seen[0] == [True, True]


def test_a_bag_with_rows_of_two_is_never_asked_about(table, services, members, monkeypatch):
    X, _, ids = table

    def begin(settings, oracle, relay):
        settings.cancel = None

    monkeypatch.setattr("priorboost.training.Settings.begin", begin)
    with pytest.raises(
        ValueError, match="has rows of several oracles; a bag must have rows of one"
    ):
        pb.PriorBoostRegressor(rounds=2).fit(X, oracle=pb.RemoteOracles(members), ids=ids)
    assert not services[0].spent
    assert not services[1].spent


def test_members(members, tmp_path):
    with pytest.raises(ValueError, match="at least one"):
        pb.RemoteOracles([])
    with pytest.raises(ValueError, match="the same address"):
        pb.RemoteOracles([members[0], members[0]])
    other = pb.RemoteOracle("https://x", token_file=members[0].token_file)
    with pytest.raises(ValueError, match="the same token_file"):
        pb.RemoteOracles([members[0], other])
    with pytest.raises(ValueError, match="parameters of RemoteOracles"):
        pb.RemoteOracles([pb.RemoteOracle("https://x", token_file="t", checkpoint=tmp_path)])


def test_a_service_with_too_few_rows(table, services, members):
    X, _, ids = table
    services[0].labels = {name: 0.0 for name in ids[:3]}
    services[1].labels = {name: 0.0 for name in ids[3:]}
    with pytest.raises(pb.PrivacyError, match="can be asked about 3 of the rows; a bag needs 4"):
        pb.PriorBoostRegressor(rounds=2).fit(X, oracle=pb.RemoteOracles(members), ids=ids)
