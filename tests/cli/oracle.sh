#!/usr/bin/env bash
# A label holder makes a store, fills it, hands out tokens, looks at it and erases a label.
tests=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$tests/lib.sh"

# ---- init: rules are said in full, and once ----
expect 2 priorboost oracle
expect 0 priorboost oracle --help
printed 'export-ledger'
expect 2 priorboost oracle paint
says 'paint'
for command in init upgrade import token forget status audit export-ledger; do
    expect 0 priorboost oracle $command --help
    printed "Usage: priorboost oracle $command"
done
expect 2 priorboost oracle init --store s.db --min-bag 4 --bounds 0,1
says --no-noise
no_file s.db
expect 2 priorboost oracle init --store s.db --min-bag 1 --bounds 0,1 --no-noise
says 'at least 2'
expect 2 priorboost oracle init --store s.db --min-bag 4 --no-noise
expect 2 priorboost oracle init --store s.db --min-bag 4 --epsilon 1 --no-noise --bounds 0,1
expect 2 priorboost oracle init --store ftp://x --min-bag 4 --epsilon 1 --bounds 0,1
expect 0 priorboost oracle init --store sqlite:s.db --min-bag 4 --epsilon 0.1 --bounds=-1,1 --json
[ "$(field min_bag) $(field dp) $(field epsilon) $(field step)" = "4 true 0.1 1.9073486328125e-06" ] || fail "rules: $(cat stdout)"
[ "$(stat -c %a s.db)" = 600 ] || fail "others may read the store"
[ "$(stat -c %a s.db.key)" = 600 ] || fail "others may read the key file"
expect 5 priorboost oracle init --store s.db --min-bag 2 --epsilon 10 --bounds 0,1
says 'cannot be changed'
expect 2 priorboost oracle init --store w.db --min-bag 2 --epsilon 12 --bounds 0,1
says "epsilon is 12 for each row; someone who knows the other labels of a bag can then be 99.99939 % sure"
says "--weak-privacy 'labels can be guessed'"
expect 2 priorboost oracle init --store w.db --min-bag 2 --epsilon 12 --bounds 0,1 --weak-privacy yes
says "--weak-privacy is 'yes'"
expect 2 priorboost oracle init --store w.db --min-bag 2 --epsilon 4 --bounds 0,1 --unit --unit-rows 3
says 'epsilon is 12 for each unit'
expect 2 priorboost oracle init --store w.db --min-bag 2 --epsilon 1e19 --bounds 0,1
expect 2 priorboost oracle init --store w.db --min-bag 2 --epsilon 1 --bounds 0,1 --weak-privacy 'labels can be guessed'
no_file w.db
expect 0 priorboost oracle init --store w.db --min-bag 2 --epsilon 12 --bounds 0,1 --weak-privacy 'labels can be guessed'
expect 2 priorboost oracle init --store d.db --min-bag 2 --epsilon 1 --bounds 0,1 --contact "$(printf 'a\tb')"
says "the data sheet's contact must be one line"
no_file d.db
expect 0 priorboost oracle init --store d.db --min-bag 2 --epsilon 1 --bounds 0,1 --label-name 'visits to a doctor' \
    --owner 'Insurer & Söhne' --contact privacy@example.org
expect 0 priorboost oracle status --store d.db
printed 'label     visits to a doctor'
expect 0 priorboost oracle status --store d.db --json
[ "$(field rules.sheet.owner) $(field rules.sheet.purpose)" = "Insurer & Söhne null" ] || fail "sheet: $(cat stdout)"
expect 3 priorboost oracle status --store none.db
no_file none.db
echo "not a database, but long enough to look at" >text.db
expect 4 priorboost oracle status --store text.db

# ---- the key file: beside the store or where --key says; a store of version 1 is upgraded ----
expect 0 priorboost oracle init --store k.db --key elsewhere --min-bag 4 --no-noise --bounds 0,1
expect 3 priorboost oracle status --store k.db
says 'k.db.key is missing'
expect 0 priorboost oracle status --store k.db --key elsewhere
chmod 644 elsewhere
expect 5 priorboost oracle status --store k.db --key elsewhere
says 'chmod 600'
if command -v sqlite3 >/dev/null; then
    sqlite3 old.db <"$tests/../ledger/fixtures/version_1.sql"
    expect 3 priorboost oracle status --store old.db
    says "priorboost oracle upgrade --store old.db"
    expect 0 priorboost oracle upgrade --store old.db --json
    [ "$(field from) $(field to)" = "1 2" ] || fail "upgrade: $(cat stdout)"
    expect 0 priorboost oracle audit --store old.db
    expect 0 priorboost oracle upgrade --store old.db
    says "already"
fi

# ---- import: all or nothing, later rows, ids of both kinds, no label in any message ----
printf 'id,y\n1,0.5\n2,1\nx,-0.25\n' >rows.csv
printf 'id,y\n7,0.5\n8,0.4375e1\n' >outside.csv
printf 'id,y\n7,0.5\n8,\n' >missing.csv
printf 'id,y\n7,0.5\n7,1\n' >twice.csv
printf 'id,y\n7,0.5\n2,1\n' >known.csv
printf 'id,y\n7,0.5\n8,secret\n' >text.csv
import() { expect "$1" priorboost oracle import --store s.db --data "$2" --id id --label y "${@:3}"; }
import 0 rows.csv --json
[ "$(field rows) $(field clamped)" = "3 0" ] || fail "import"
import 3 outside.csv
says 'outside.csv:3'
grep -q 4.375 stderr && fail "a message shows a label"
import 3 missing.csv
import 3 text.csv
grep -q secret stderr && fail "a message shows a label"
import 3 twice.csv
says "'7' occurs twice"
import 3 known.csv
says "'2' is already in the store"
import 3 nowhere.csv
expect 3 priorboost oracle import --store s.db --data rows.csv --id id --label z
expect 2 priorboost oracle import --store s.db --data rows.csv --id id --label y --unit id
expect 0 priorboost oracle status --store s.db --json
[ "$(field rows) $(field spent) $(field left)" = "3 0 3" ] || fail "a failed import left rows"
import 0 outside.csv --clamp --json
[ "$(field clamped)" = 1 ] || fail "clamp"

# ---- tokens ----
token() { expect "$1" priorboost oracle token "${@:2}" --store s.db; }
token 0 create --name anna --expires 30d --rows 100 --json
secret=$(field token)
[ ${#secret} -eq 46 ] || fail "the token is $secret"
token 0 create --name boss --role operator --json
token 0 create --name bob --scope north --expires 2099-12-31 --quiet
[ "$(wc -c <stdout)" = 47 ] || fail "a token on a line of its own"
token 2 create --name anna
token 2 create
token 2 create --name x --expires soon
token 2 create --name x --role king
says 'learner|operator|auditor|approver'
for role in operator auditor approver; do
    token 2 create --name x --role $role --rows 5
    says "not one of role $role"
done
token 2 paint --name x
token 2
says 'create, list, prepare, approve or revoke'
expect 2 priorboost oracle token prepare
expect 0 priorboost oracle token prepare --out own.token
registration=$(cat stdout)
[ ${#registration} = 128 ] && [ "$(stat -c %a own.token)" = 600 ] || fail "prepare: $registration"
expect 1 priorboost oracle token prepare --out own.token
says 'exists'
token 2 create --name own --registration abc
says '128 hexadecimal digits'
token 0 create --name own --registration "$registration"
[ ! -s stdout ] || fail "a secret that the label holder must not see"
token 2 create --name other --registration "$registration"
says 'another token has this registration'
token 0 list --json
[ "$(field tokens.0.name) $(field tokens.0.rows) $(field tokens.1.role) $(field tokens.2.scope) $(field tokens.2.expires)" = \
    "anna 100 operator north 4102358400" ] || fail "tokens: $(cat stdout)"
[ "$(field tokens.0.state) $(field tokens.0.created_by) $(field tokens.0.epsilon)" = "active null 0.0" ] || fail "tokens: $(cat stdout)"
grep -q "$secret" stdout && fail "a secret is shown again"
token 0 list
printed 'anna'
token 0 revoke --name bob
token 2 revoke --name bob
grep -qa "$secret" s.db s.db-wal 2>/dev/null && fail "the store keeps a secret"

# ---- forget, status, audit, export ----
expect 3 priorboost oracle forget --store s.db --id 1,unknown
expect 0 priorboost oracle forget --store s.db --id x,2 --json
[ "$(field forgotten)" = 2 ] || fail "forget"
expect 0 priorboost oracle status --store s.db
printed '5, of which 2 spent (2 forgotten) and 3 left'
expect 0 priorboost oracle status --store s.db --json
head=$(field head)
expect 0 priorboost oracle audit --store s.db --head "$head" --json
[ "$(field sound) $(field rows_imported)" = "true 5" ] || fail "audit"
expect 3 priorboost oracle audit --store s.db --head "${head/[0-8]/9}"
says 'never had the head'
expect 2 priorboost oracle audit --store s.db --head abc
says '64 hexadecimal digits'
expect 0 priorboost oracle export-ledger --store s.db --out ledger.jsonl
python3 - <<'PY' || fail "export"
import json
lines = [json.loads(line) for line in open("ledger.jsonl")]
assert [l["kind"] for l in lines if "kind" in l] == ["init", "import", "import", "token", "token", "token", "token", "revoke", "forget"]
assert sorted(l["row"] for l in lines if "row" in l) == ["2", "x"]
assert "label" not in open("ledger.jsonl").read()
PY
if command -v sqlite3 >/dev/null; then
    sqlite3 s.db "UPDATE ledger_row SET id = '3' WHERE id = '1'"
    expect 3 priorboost oracle audit --store s.db
    says 'imported'
fi

# ---- units ----
expect 0 priorboost oracle init --store u.db --min-bag 2 --no-noise --bounds 0,1 --step 1 --unit --unit-rows 3
printf 'row,who,y\n1,ann,0\n2,ann,1\n3,bob,1\n' >units.csv
expect 2 priorboost oracle import --store u.db --data units.csv --id row --label y
says 'units'
expect 0 priorboost oracle import --store u.db --data units.csv --id row --label y --unit who
expect 0 priorboost oracle status --store u.db
printed 'each in at most 3 answered bags'
finish
