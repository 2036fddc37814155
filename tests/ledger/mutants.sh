#!/usr/bin/env bash
# Takes one guard of the ledger out at a time and shows that a test then fails.
#
#     mutants.sh BUILD [NAME]     BUILD is a configured and built release folder; NAME: only mutants
#                                 whose name contains it
#
# A mutant is one source file with a line changed; it is compiled, put before the library in the
# link of a test, and that test must fail.
set -euo pipefail
build=$(cd "${1:?build folder}" && pwd)
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
survivors=0 killed=0
only=${2:-}

flags="-std=c17 -O1 -w -D_DEFAULT_SOURCE -D_POSIX_C_SOURCE=200809L -I$source/include -I$source/src/idiom
    -I$source/src/ledger -I$source/src/core $(pkg-config --cflags libpq sqlite3 libsodium)"
libraries="$build/lib/libpriorboost_ledger.a $build/lib/libpriorboost_inside.a
    $(pkg-config --libs libpq sqlite3 libsodium openblas jansson cmocka) -fopenmp -lm -lpthread"

# mutant NAME FILE TEST OLD NEW [ARGUMENT...]: in src/ledger/FILE the text OLD becomes NEW.
mutant() {
    local name=$1 file=$2 test=$3 old=$4 new=$5 object wrap=
    shift 5
    [[ $name == *$only* ]] || return 0
    OLD=$old NEW=$new python3 - "$source/src/ledger/$file" "$work/$file" <<'PY'
import os, sys
text = open(sys.argv[1]).read()
assert os.environ["OLD"] in text, f"{sys.argv[1]} has no: {os.environ['OLD']}"
open(sys.argv[2], "w").write(text.replace(os.environ["OLD"], os.environ["NEW"], 1))
PY
    case $test in
    fault_ledger)
        object=$build/tests/CMakeFiles/fault_ledger.dir/fault/test_ledger.c.o
        wrap=-Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=getrandom ;;
    torture_*) object=$build/tests/CMakeFiles/$test.dir/torture/${test#torture_}.c.o ;;
    *) object=$build/tests/CMakeFiles/$test.dir/ledger/test_${test#ledger_}.c.o ;;
    esac
    # shellcheck disable=SC2086
    cc $flags -c "$work/$file" -o "$work/mutant.o"
    # shellcheck disable=SC2086
    cc "$object" "$work/mutant.o" $wrap $libraries -o "$work/test"
    if timeout 300 "$work/test" "$@" >"$work/log" 2>&1; then
        echo "| $name | $test | SURVIVED |"
        survivors=$((survivors + 1))
    else
        echo "| $name | $test | caught |"
        killed=$((killed + 1))
    fi
    rm -rf "${work:?}/$file"
}

echo "| guard taken out | test | |"
echo "|---|---|---|"
mutant "bags of at least k" rules.c ledger_rules '{PBOOST_PROBLEM_BAG_TOO_SMALL, small_bags},' ''
mutant "a row once in a request" rules.c ledger_rules '{PBOOST_PROBLEM_DUPLICATE_ROW, repeated_rows},' ''
mutant "spent rows, as told by the rules" rules.c ledger_rules '{PBOOST_PROBLEM_ROW_SPENT, spent_rows},' ''
mutant "a unit once in a bag" rules.c ledger_rules '{PBOOST_PROBLEM_UNIT_REPEATED, repeated_units},' ''
mutant "a unit unit_rows times" rules.c ledger_rules '{PBOOST_PROBLEM_UNIT_SPENT, spent_units},' ''
mutant "quotas" rules.c ledger_tokens '{PBOOST_PROBLEM_QUOTA_EXCEEDED, over_quota},' ''
mutant "k of at least 2" rules.c ledger_rules 'rules->rules.min_bag < 2' 'rules->rules.min_bag < 1'
mutant "no noise only by name" rules.c ledger_rules 'rules->rules.epsilon.den == 0 && !rules->no_noise' 'false'
mutant "scopes" ledger.c ledger_tokens 't->scope[slot[i]] != scope' 'false'
mutant "erased rows look unknown" ledger.c ledger_tokens '(t->label[slot[i]] == NO_LABEL ||' '(false ||'
mutant "same id, other question" ledger.c ledger_rules 'stored.found && !pboost_digest_equal(&stored.hash, &a->hash)' 'false'
mutant "same id, same bytes" ledger.c ledger_rules '*answered = stored.found;' '*answered = false;'
mutant "unknown heads" ledger.c ledger_chain 'if (!known)' 'if (false)'
mutant "noise" ledger.c ledger_rules 'if (!l->rules.no_noise)' 'if (false)'
mutant "claims of other processes are read" labels.c ledger_import 'last.number == t->link.number && pboost_digest_equal(&last.hash, &t->link.hash)' 'true'
mutant "a rollback under a running service" labels.c ledger_chain 'mine.number < 0 || !pboost_digest_equal(&mine.hash, &t->link.hash)' 'false'
mutant "rules are in the chain" open.c ledger_rules 'memcmp(value[5].data, link.hash.byte, sizeof link.hash.byte) != 0' 'false'
mutant "expiry" token.c ledger_tokens 'token->expires != 0 && now >= token->expires' 'false'
mutant "revocation" token.c ledger_tokens 'if (token->revoked)' 'if (false)'
mutant "roles" token.c ledger_tokens 'token->role != role' 'false'
mutant "secrets are compared" token.c ledger_tokens 'sodium_memcmp(value[9].data, r->hash.byte, sizeof r->hash.byte) == 0' 'true'
mutant "duplicate ids at import" import.c ledger_import 'if (!added)' 'if (false)'
mutant "known ids at import" import.c ledger_import 'pboost_ids_find(&m->ledger->labels.ids, id) != NO_NUMBER' 'false'
mutant "NaN at import" import.c ledger_import '!isfinite(label)' 'false'
mutant "bounds at import" import.c ledger_import 'outside && !m->in->clamp' 'false'
mutant "erasure spends" import.c ledger_import 'f->spend[f->n_spend++] = slot;' ';'
mutant "erasure overwrites" store_sqlite.c ledger_import 'PRAGMA secure_delete = ON' 'PRAGMA secure_delete = OFF'
mutant "erasure empties the log" store_sqlite.c ledger_import 'return checkpoint(s, SQLITE_CHECKPOINT_TRUNCATE, err);' 'return PBOOST_OK;'
mutant "hash of an entry" audit.c ledger_chain 'memcmp(value[HASH].data, link.hash.byte, sizeof(digest)) != 0' 'false'
mutant "seal of a reply" audit.c ledger_chain 'memcmp(value[SEAL].data, link.seal.byte, sizeof(digest)) != 0' 'false'
mutant "sums are computed again" audit.c ledger_chain 'known && sum != released' 'false'
mutant "claims belong to entries" audit.c ledger_chain 'a->claimed[slot] != (uint32_t)value[1].number + 1' 'false'
mutant "the constraint on rows" store.c ledger_rules 'slot INTEGER PRIMARY KEY, entry INTEGER NOT NULL' 'slot INTEGER, entry INTEGER NOT NULL'
mutant "the constraint on units" store.c ledger_rules ', PRIMARY KEY (unit, use))~' ')'
mutant "writers take turns" store_sqlite.c ledger_races 'write ? "BEGIN IMMEDIATE" : "BEGIN"' '"BEGIN"'
mutant "a failed fsync breaks the store" store_sqlite.c fault_ledger 'primary == SQLITE_IOERR ||' ''
mutant "checkpoints are watched" store_sqlite.c fault_ledger '(void)checkpoint(s, SQLITE_CHECKPOINT_PASSIVE, NULL);' '(void)sqlite3_wal_checkpoint(of(s)->db, NULL);'
mutant "one transaction" ledger.c fault_ledger 'TRY(answer_bags(a, l, err));' 'TRY(pboost_store_commit(s, err)); TRY(pboost_store_begin(s, true, err)); TRY(answer_bags(a, l, err));'
mutant "answer only after commit" ledger.c torture_ledger_kill 'TRY(pboost_store_commit(s, err));' 'static int late; if (++late % 3 == 0) TRY(pboost_store_commit(s, err));' 60
echo "$killed caught, $survivors survived"
[ "$survivors" -eq 0 ]
