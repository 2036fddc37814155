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
    [ "$(field from) $(field to)" = "1 3" ] || fail "upgrade: $(cat stdout)"
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
says "missing.csv:3: label 'y' is missing or not a finite number"
says --bad-label
import 3 text.csv
says "text.csv:3: label 'y' is missing or not a finite number"
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

# ---- bad labels: refused by line and column, or taken in as a public value ----
expect 0 priorboost oracle init --store b.db --min-bag 2 --no-noise --bounds 0,1 --step 1
bad() { expect "$1" priorboost oracle import --store b.db --data "$2" --id id --label y "${@:3}"; }
printf 'id,y\n1,1\n2,\n3,n/a\n4,nan\n5,7\n6,0x1\n7,1e999\n8,NA\n9,0\n' >bad.csv
bad 2 bad.csv --bad-label 2
says 'within the bounds [0, 1]'
bad 2 bad.csv --bad-label x
bad 0 bad.csv --bad-label 1 --json
[ "$(field rows) $(field clamped) $(field bad_labels)" = "9 0 7" ] || fail "bad labels: $(cat stdout)"
sed 's/^\([0-9]\)/1\1/' bad.csv >more.csv
bad 0 more.csv --bad-label 1 --clamp
says '9 rows imported, 1 labels moved to a bound'
says '6 bad labels taken in as 1'
printf 'id;y\n81;0,25\n82;unknown\n83;0,75\n' >comma.csv
bad 0 comma.csv --bad-label 1 --json
[ "$(field bad_labels)" = 1 ] || fail "decimal commas: $(cat stdout)"
printf 'id,y\n31,0\n32,5\n' >high.csv
bad 3 high.csv
says "high.csv:3: 'y': the label is outside the bounds"

# ---- labels of text ----
printf 'id,y\n41,yes\n42,no\n43,yes\n' >text.csv
printf 'id,y\n51,yes\n52,no\n53,secret\n54,\n' >three.csv
printf 'id,y\n61,no\n62,no\n' >no.csv
printf 'id,y\n71,1\n72,2\n' >codes.csv
printf 'id,y\n45,up\n46,down\n' >other.csv
printf 'id,y\n45,f\n46,m\n' >letters.csv
for file in other.csv letters.csv; do
    bad 3 $file
    says "label 'y' is text; --positive says which value counts as 1"
done
bad 3 text.csv --positive ja
says "never is 'ja'"
bad 0 text.csv --positive Yes
printf 'id,y\n141,True\n142,FALSE\n143," true "\n' >words.csv
bad 0 words.csv
says "note: label 'y': 'True' counts as 1, 'FALSE' as 0"
bad 3 three.csv
says "three.csv:4: label 'y' is missing or has a third value"
bad 3 three.csv --positive yes
says "three.csv:4: label 'y' is missing or has a third value"
grep -q secret stderr && fail "a label is told"
bad 3 three.csv --positive yes --negative no
says "three.csv:4: label 'y' is missing, or neither"
bad 0 three.csv --positive yes --negative no --bad-label 0 --json
[ "$(field bad_labels)" = 2 ] || fail "bad text labels: $(cat stdout)"
bad 3 no.csv --positive yes
bad 0 no.csv --positive yes --negative no
bad 0 codes.csv --positive 2
bad 2 codes.csv --negative 2
says 'no --positive'
bad 2 codes.csv --positive 2 --negative 2
says 'both'

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
for past in 1970-01-01 2020-02-29 0s; do
    token 2 create --name x --expires $past
    says "--expires is '$past', which is past"
done
token 2 create --name x --expires 2099-02-30
says "'2099-02-30'; it must be"
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
expect 3 priorboost oracle forget --store s.db --id 1 --id unknown
expect 2 priorboost oracle forget --store s.db
says '--id, --id-file or --unit'
expect 2 priorboost oracle forget --store s.db --unit x
says 'without them'
expect 0 priorboost oracle forget --store s.db --id x --id 2 --json
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
assert [l["row"] for l in lines if "row" in l] == [None, None]  # their ids are erased
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
expect 2 priorboost oracle init --store v.db --min-bag 2 --no-noise --bounds 0,1 --unit --unit-rows 3 --scope-rows A=2,B=2
says '4 rows in all'
no_file v.db
expect 0 priorboost oracle init --store v.db --min-bag 2 --no-noise --bounds 0,1 --unit --unit-rows 3 --scope-rows A=2,B=1 --json
[ "$(field scope_rows)" = A=2,B=1 ] || fail "shares: $(cat stdout)"
printf 'row,who,g,y\n21,cat,A,0\n22,cat,C,1\n' >scopes.csv
expect 3 priorboost oracle import --store v.db --data scopes.csv --id row --label y --unit who --scope g
says "scopes.csv:3: 'g': scope 'C' has no share in the store's rules: A=2,B=1"
expect 3 priorboost oracle import --store u.db --data scopes.csv --id row --label y --unit who --scope g
says 'two scopes'
expect 0 priorboost oracle status --store v.db
printed 'each in at most 3 answered bags; by scope A=2,B=1'

# ---- another key ----
before=$(cksum <u.db.key)
expect 0 priorboost oracle rekey --store u.db --json
[ "$(field rows) $(field key)" = "3 2" ] || fail "rekey: $(cat stdout)"
[ "$before" != "$(cksum <u.db.key)" ] || fail "the key file did not change"
[ "$(grep -c ^label u.db.key)" = 1 ] || fail "an old key is left"
[ "$(stat -c %a u.db.key)" = 600 ] || fail "others may read the key file"
expect 0 priorboost oracle audit --store u.db
expect 3 priorboost oracle rekey --store nowhere.db

# ---- forget by any id, by a file of ids, by unit ----
printf 'row,who,y\n"Doe, Jane",cy,0\n"a ""b""",cy,1\n5,dee,1\n6,eve,1\n7,"x,y",0\n8,"x,y",0\n' >odd.csv
expect 0 priorboost oracle import --store u.db --data odd.csv --id row --label y --unit who
forget() { expect "$1" priorboost oracle forget --store u.db --json "${@:3}"; [ "$1" != 0 ] ||
    [ "$(field forgotten)" = "$2" ] || fail "forget ${*:3}: $(cat stdout)"; }
forget 0 1 --id 'Doe, Jane'
printf 'a "b"\r\n\n5' >ids
forget 0 2 --id-file ids
printf 'who,row\neve,6\n' >ids.csv
forget 3 - --id-file ids.csv --id-column name
forget 0 1 --id-file ids.csv --id-column row
forget 3 - --id-file nowhere
says 'nowhere'
printf '\n\n' >empty
forget 3 - --id-file empty
says 'empty holds no ids'
forget 2 - --id-column row
says 'no --id-file'
forget 3 - --unit nobody --unit ann
says "unit 'nobody' is not in the store; nothing was erased"
forget 0 2 --unit 'x,y'
forget 0 3 --unit ann --unit bob --id 5
expect 0 priorboost oracle status --store u.db
printed '9, of which 9 spent (9 forgotten)'
expect 0 priorboost oracle audit --store u.db
finish
