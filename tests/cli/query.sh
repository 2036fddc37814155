#!/usr/bin/env bash
# The result of a query as a table: SQLite, or the PostgreSQL of with_postgresql.sh.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

python3 - <<'PYTHON'
import random, sqlite3
random.seed(5)
rows = []
for i in range(600):
    age, city = random.randint(18, 90), random.choice(["Bonn", "Ulm", "O'Neill, \"x\""])
    y = random.random() < 1 / (1 + 2.718 ** (-(age - 50) / 10))
    dose = None if i % 40 == 3 else random.gauss(0, 1)
    rows.append((2**53 + 1 + 2 * i, age, dose, city, f"0{i % 3}", "yes" if y else "no"))
db = sqlite3.connect("t.db")
db.execute("CREATE TABLE t (id INTEGER, age INTEGER, dose REAL, city TEXT, code TEXT, y TEXT)")
db.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?, ?)", rows)
db.execute("CREATE TABLE odd (a, b BLOB)")
db.execute("INSERT INTO odd VALUES (1, x'00ff'), ('word', NULL), ('E11', NULL), ('E12', NULL)")
db.execute("CREATE TABLE empty (a, b)")
db.commit()
quote = lambda v: "" if v is None else '"' + v.replace('"', '""') + '"' if isinstance(v, str) else repr(v)
with open("t.csv", "w") as f:
    f.write("id,age,dose,city,code,y\n")
    for r in rows:
        f.write(",".join(map(quote, r)) + "\n")
literal = lambda v: "NULL" if v is None else "'" + v.replace("'", "''") + "'" if isinstance(v, str) else repr(v)
with open("t.sql", "w") as f:
    f.write("CREATE TABLE t (id int8, age int4, dose float8, city text, code text, y text);\n")
    f.write("INSERT INTO t VALUES " + ",".join("(" + ",".join(map(literal, r)) + ")" for r in rows) + ";\n")
    f.write("CREATE TABLE odd (a text, b bytea); INSERT INTO odd VALUES ('1', '\\x00ff');\n")
    f.write("CREATE TABLE empty (a text, b text); CREATE SEQUENCE counter;\n")
    f.write("CREATE TABLE kinds AS SELECT n, n % 2 = 0 AS flag, date '2024-01-01' + n AS day, ")
    f.write("n::numeric / 8 AS ratio FROM generate_series(1, 300) n;\n")
PYTHON
if [ -n "${PBOOST_TEST_STORE:-}" ]; then
    "$PBOOST_TEST_POSTGRESQL/psql" -q -h "$PBOOST_TEST_SERVER" -U test -d postgres -v ON_ERROR_STOP=1 -f t.sql
    source=$PBOOST_TEST_STORE'&query='
    name="postgresql://$PBOOST_TEST_SERVER/postgres"
    system=PostgreSQL
    missing='relation "none" does not exist'
else
    source='sqlite:t.db?query='
    name=sqlite:t.db
    system=SQLite
    missing='no such table: none'
fi
all="${source}SELECT * FROM t ORDER BY id"
train() { priorboost train --family logistic --label y --id id --min-bag 5 --impute mean --types code=category "$@"; }

# ---- the same model, predictions, measures and rows as from the file ----
expect 0 train --data t.csv --out file.json
expect 0 train --data "$all" --out query.json
cmp -s file.json query.json || fail "the query gives another model: $(diff file.json query.json | head)"
says "'yes' counts as 1"
expect 0 priorboost predict --model file.json --data t.csv --id id --out file.csv
expect 0 priorboost predict --model file.json --data "$all" --id id --out query.csv
cmp -s file.csv query.csv || fail "the query gives other predictions" # and 9007199254740993 stays exact
grep -q '^9007199254740993,' query.csv || fail "an id lost digits"
expect 0 priorboost evaluate --model file.json --data t.csv
cp stdout file.txt
expect 0 priorboost evaluate --model file.json --data "$all"
cmp -s file.txt stdout || fail "the query gives other measures"
expect 0 priorboost describe "$all" --json
[ "$(field columns.2.missing)" = 15 ] || fail "NULL is not missing"
[ "$(field columns.4.type)" = category ] || fail "a text that looks like a number is not text"
expect 0 priorboost plan --data "$all" --family logistic --min-bag 5 --label y --drop id --impute mean
expect 0 priorboost oracle init --store o.db --min-bag 5 --bounds 0,1 --no-noise
expect 0 priorboost oracle import --store o.db --data "$all" --id id --label y --json
[ "$(field rows)" = 600 ] || fail "the import has $(field rows) rows"
printf '9007199254740993\n' >one
expect 0 priorboost oracle forget --store o.db --id-file "${source}SELECT id FROM t WHERE id = 9007199254740995" --id-column id
expect 0 priorboost oracle forget --store o.db --id-file one # the id is exact
expect 0 train --data t.csv --prior file.json --test "${source}SELECT * FROM t LIMIT 50" --json
expect 0 priorboost train --family linear --data "${source}SELECT age, city, code AS bag FROM t" --bag bag \
    --answers "${source}SELECT code AS bag, count(*) AS count, avg(age) AS mean FROM t GROUP BY code" --drop age --force

# ---- the text of a query ----
expect 0 priorboost describe "${source}SELECT%20age%2C+age%2B1+AS+next%20FROM+t" --json
[ "$(field columns.1.name)" = next ] || fail "a query for a URL is not decoded"
expect 0 priorboost describe "${source}SELECT age + 1 AS next FROM t WHERE city LIKE '%41%' OR city LIKE '%on%'" --json
[ "$(field columns.0.name)" = next ] || fail "a typed query is changed"
expect 2 priorboost describe "${source}SELECT%2"
says "the query has '%2'"
expect 2 priorboost describe "${source}"
says 'is empty'
expect 2 priorboost describe "${source%query=}"
says 'has no query; write'

# ---- what goes wrong names the source and what the database says ----
expect 3 priorboost describe "${source}SELECT * FROM none"
says "$name: $system says: $missing"
expect 3 priorboost describe "${source}SELECT * FROM empty"
says "$name gives no rows"
expect 3 priorboost describe "${source}SELECT b FROM odd"
says "column 'b' is"
expect 3 priorboost describe "${source}SELECT age, age FROM t"
says "$name: columns 1 and 2 are both named 'age'"
expect 3 train --data "${source}SELECT *, CASE WHEN age = 40 THEN 'maybe' ELSE y END AS z FROM t" --drop z --label z
says 'maybe'
says "$name:"
for write in "DELETE FROM t" "INSERT INTO odd VALUES (2, NULL)" "DROP TABLE t" "SELECT age FROM t; DROP TABLE t" \
    "CREATE TABLE made (a int)"; do
    got=0
    priorboost describe "$source$write" >stdout 2>stderr || got=$?
    { [ $got = 2 ] || [ $got = 3 ]; } || fail "exit code $got for: $write"
    checks=$((checks + 1))
done
expect 0 priorboost describe "${source}SELECT count(*) AS n FROM t" --json
[ "$(field columns.0.upper)" = 600.0 ] || fail "a query changed the table"

if [ $system = SQLite ]; then
    expect 2 priorboost describe 'sqlite:t.db?query=DELETE FROM t RETURNING id'
    says 'gives no table; it must be a SELECT'
    expect 3 priorboost describe 'sqlite:nothing.db?query=SELECT 1'
    says 'sqlite:nothing.db: SQLite says: unable to open database file'
    no_file nothing.db
    expect 3 priorboost describe 'sqlite:t.csv?query=SELECT * FROM t'
    says 'sqlite:t.csv: SQLite says: file is not a database'
    expect 0 priorboost describe 'sqlite:t.db?query=SELECT a FROM odd' --json # mixed: read a second time
    [ "$(field columns.0.type)" = category ] || fail "a mixed column is no text"
    for secret in 'postgresql://me:s3cret@127.0.0.1:1/db?connect_timeout=2&query=SELECT 1' \
        'postgresql://me:s3cret@nowhere.invalid/db?query=SELECT 1' \
        'postgresql://me:s3c@s3cret@127.0.0.1:1/db?query=SELECT 1' \
        'postgresql://me:s3c/ret@127.0.0.1:1/db?query=SELECT 1' 'postgresql://me:s3c?ret@127.0.0.1/db?query=SELECT 1' \
        'postgresql://me:s3cret@127.0.0.1:1/db?bad=s3cret&query=SELECT 1' 'postgresql://me:s3cret@h/db'; do
        got=0
        priorboost describe "$secret" >stdout 2>stderr || got=$?
        { [ $got = 2 ] || [ $got = 3 ]; } || fail "exit code $got for $secret"
        says postgresql://
        case $secret in *:s3cret@127.0.0.1:1/db?connect*) says 'holds a password, which every user of this machine can read' ;; esac
        ! grep -q s3c stdout stderr || fail "a message shows a password: $(cat stderr)"
        checks=$((checks + 1))
    done
    expect 3 priorboost describe 'postgresql://me@127.0.0.1:1/db?connect_timeout=2&query=SELECT 1'
    says 'postgresql://127.0.0.1:1/db: PostgreSQL says: '
else
    expect 0 priorboost describe "${source}SELECT * FROM kinds" --json
    [ "$(field columns.0.type) $(field columns.1.type) $(field columns.2.type) $(field columns.3.type)" = "id category date number" ] ||
        fail "types of PostgreSQL: $(cat stdout)"
    [ "$(field columns.3.upper)" = 37.5 ] || fail "numeric is not exact"
    expect 3 priorboost describe "${source}SELECT nextval('counter') AS n FROM t"
    says 'cannot execute nextval() in a read-only transaction'
    expect 3 priorboost describe "${source}SELECT 1 / (age - age) AS a FROM t"
    says 'division by zero'
fi
finish
