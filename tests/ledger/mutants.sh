#!/usr/bin/env bash
# Takes one guard of the oracle out at a time and shows that a test then fails.
#
#     mutants.sh BUILD [NAME]     BUILD is a configured and built release folder; NAME: only mutants
#                                 whose name contains it
#     mutants.sh --list           the names and their tests, with a tab between; nothing is built.  A
#                                 text to be changed that its file does not have is an error
#
# SECURITY.md, "Guards", has the same names by promise; tests/docs/guards.py compares the two.
#
# A mutant is one source file with a line changed.  It is compiled as BUILD compiles it and put before
# the libraries in the link of a test, or of the program that a test of the service runs; that test
# must fail.
set -euo pipefail
list=
build=
if [ "${1:?build folder or --list}" = --list ]; then list=yes; else build=$(cd "$1" && pwd); fi
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
survivors=0 killed=0
only=${2:-}
export MAKE_STORE=$build/bin/make_store FAULTS=$build/lib/libfaults.so SOURCE=$source MEMORY_FAULTS=
export PBOOST_TEST_PRELOAD=$build/lib/libpostgresql_faults.so

# compile FILE: src/FILE with $OLD changed to $NEW becomes $work/mutant.o.
compile() {
    python3 - "$source/src/$1" "$build/compile_commands.json" "$work" <<'PY'
import json, os, shlex, subprocess, sys
path, commands, work = sys.argv[1:]
text = open(path).read()
old, new = os.environ["OLD"], os.environ["NEW"]
assert old in text, f"{path} has no: {old}"
mutant = os.path.join(work, "mutant.c")
open(mutant, "w").write(text.replace(old, new, 1))
entry = next(e for e in json.load(open(commands)) if e["file"] == path)
command = [c for c in shlex.split(entry["command"]) if c not in ("-Werror", "ccache")]
command[command.index("-o") + 1] = os.path.join(work, "mutant.o")
command[command.index("-c") + 1] = mutant
if "-MF" in command:
    command[command.index("-MF") + 1] = os.path.join(work, "mutant.d")
subprocess.run([*command, "-w", "-I", os.path.dirname(path)], cwd=entry["directory"], check=True)
PY
}

# link_as TARGET: what the build links as TARGET, with the mutant, becomes $work/program.
link_as() {
    local command
    command=$(ninja -C "$build" -t commands "$1" | tail -n 1)
    command=${command/ src\/CMakeFiles\/priorboost_cli.dir\/$file.o/} # the program has these as they are
    command=${command/ -o bin\// $work\/mutant.o -o $work\/program.of.}
    (cd "$build" && eval "$command")
    mv "$work"/program.of.* "$work/program"
}

# mutant NAME FILE TEST OLD NEW [ARGUMENT...]: in src/FILE the text OLD becomes NEW.  TEST is a program
# of tests/, server_NAME for tests/server/test_NAME.py or cli_NAME for tests/cli/NAME.sh;
# postgresql:TEST runs on that store.
mutant() {
    local name=$1 file=$2 test=$3 how=()
    if [ "$list" ]; then
        printf '%s\t%s\n' "$name" "$test"
        [[ $(<"$source/src/$file") == *"$4"* ]] && return
        echo "mutants.sh, '$name': src/$file has no: $4" >&2
        survivors=$((survivors + 1))
        return
    fi
    [[ $name == *$only* ]] || return 0
    OLD=$4 NEW=$5 compile "$file"
    shift 5
    case $test in postgresql:*) how=("$source/tests/ledger/with_postgresql.sh") ;; esac
    case ${test#*:} in
    server_*)
        link_as bin/priorboost
        how+=(env "PRIORBOOST=$work/program" "$source/tests/server/test_${test#*server_}.py") ;;
    cli_*)
        link_as bin/priorboost
        how+=(env "PRIORBOOST=$work/program" bash "$source/tests/cli/${test#*cli_}.sh") ;;
    *)
        link_as "bin/${test#*:}"
        how+=("$work/program") ;;
    esac
    if timeout 300 "${how[@]}" "$@" >"$work/log" 2>&1; then
        echo "| $name | $test | SURVIVED |"
        survivors=$((survivors + 1))
    else
        echo "| $name | $test | caught |"
        killed=$((killed + 1))
    fi
}

[ "$list" ] || printf '| guard taken out | test | |\n|---|---|---|\n'
mutant "sensitivity" core/oracle/mechanism.c privacy_epsilon_audit '(grid->upper - grid->lower) * epsilon.den' '((grid->upper - grid->lower) / 2) * epsilon.den'
scale='pboost_laplace_scale(&number[j].grid, own.epsilon)'
low_scale='pboost_laplace_scale(&number[j].grid, (pboost_rational){10 * own.epsilon.num, 9 * own.epsilon.den})'
release='TRY(pboost_number_release(total, &l->number[j], &source, err));'
# with_noise STATEMENTS: they change the noise of number j of bag b
with_noise() { echo "int64_t before = *total; $release int64_t noise = *total - before; $1 *total = before + noise;"; }
paired='static int64_t first; if (b % 2 == 1) noise = -first; first = noise;'
mutant "sensitivity, in the ledger" core/oracle/rules.c ledger_noise "$scale" 'pboost_laplace_scale(&(label_grid){0, (number[j].grid.upper - number[j].grid.lower) / 2, 1}, own.epsilon)'
mutant "sensitivity of counts" core/oracle/rules.c ledger_vectors 'PBOOST_ANSWER_CLASSES ? 2' 'PBOOST_ANSWER_CLASSES ? 1'
mutant "sensitivity of counts, through HTTP" core/oracle/rules.c server_vectors 'PBOOST_ANSWER_CLASSES ? 2' 'PBOOST_ANSWER_CLASSES ? 1'
mutant "columns share epsilon" core/oracle/rules.c ledger_vectors 'rules->answer == PBOOST_ANSWER_CLASSES ? 2 : total_shares(rules)' 'rules->answer == PBOOST_ANSWER_CLASSES ? 2 : 1'
mutant "sensitivity, of Gaussian noise" core/oracle/rules.c ledger_vectors 'own.rho, err));' '(pboost_rational){4 * own.rho.num, own.rho.den}, err));'
mutant "sensitivity, of Gaussian noise through HTTP" core/oracle/rules.c server_vectors 'own.rho, err));' '(pboost_rational){2 * own.rho.num, own.rho.den}, err));' Vectors.test_audit_of_gaussian_counts
mutant "the law of Gaussian noise" core/oracle/gaussian.c privacy_gaussian 'size * t * s->den) - s->num' 'size * t * s->den) - 0'
mutant "variance of Gaussian noise, rounded up" core/oracle/gaussian.c privacy_gaussian '* (1 + MARGIN) + 0x1p-20' '* (1 - MARGIN) - 0x1p-20'
mutant "rho of Gaussian noise, rounded down" core/oracle/gaussian.c privacy_gaussian 'root * root * (1 - MARGIN)' 'root * root * (1 + MARGIN)'
mutant "no Gaussian noise for learners that do not know it" ledger/answer_rules.c ledger_vectors 'core.mechanism != PBOOST_LAPLACE)' 'false)'
mutant "noise for every number" ledger/ledger.c ledger_vectors "$release" "if (j > 0) { $release }"
mutant "each number has noise of its own" ledger/ledger.c ledger_vectors "$release" "$(with_noise 'static int64_t first; if (j > 0) noise = first; first = noise;')"
mutant "each number has Gaussian noise of its own, through HTTP" ledger/ledger.c server_vectors "$release" "$(with_noise 'static int64_t first; if (j > 0) noise = first; first = noise;')" Vectors.test_audit_of_gaussian_counts
mutant "scale of the noise" core/oracle/rules.c ledger_noise "$scale" "$low_scale"
mutant "scale of the noise, of counts" core/oracle/rules.c ledger_vectors "$scale" "$low_scale"
mutant "scale of the noise, through HTTP" core/oracle/rules.c server_noise "$scale" "$low_scale"
mutant "no opposite noise in a pair of bags" ledger/ledger.c ledger_noise "$release" "$(with_noise "$paired")"
mutant "no opposite noise in a pair of bags, through HTTP" ledger/ledger.c server_noise "$release" "$(with_noise "$paired")"
mutant "no noise for two bags" ledger/ledger.c ledger_noise "$release" "$(with_noise "${paired/-first/first}")"
mutant "no noise for two requests" ledger/ledger.c ledger_noise "$release" "$(with_noise 'static int64_t kept[1 << 12]; if (kept[b] != 0) noise = kept[b]; kept[b] = noise;')"
mutant "the system's randomness" ledger/ledger.c ledger_noise 'pboost_rng_source_system(&source);' 'pboost_rng_source_seeded(&source, 1, RNG_NOISE, 0);'
mutant "no sum without noise in the log" ledger/ledger.c server_noise "$release" 'dprintf(2, "{\"time\":0,\"level\":\"info\",\"event\":\"sum\",\"message\":\"%lld\"}\n", (long long)*total); '"$release"
mutant "sums that could overflow" core/oracle/mechanism.c unit_oracle_mechanism 'sum > (pboost_u128)SUM_LIMIT' 'false'
mutant "every bag is checked" ledger/ledger.c ledger_rules 'claim c = {a->q->n_bags, h->n' 'claim c = {1, h->n'
mutant "bags of at least k" ledger/rules.c ledger_rules '{PBOOST_PROBLEM_BAG_TOO_SMALL, small_bags},' ''
mutant "a row once in a request" ledger/rules.c ledger_rules '{PBOOST_PROBLEM_DUPLICATE_ROW, repeated_rows},' ''
mutant "spent rows, by the rules" ledger/rules.c ledger_rules '{PBOOST_PROBLEM_ROW_SPENT, spent_rows},' ''
mutant "a unit once in a bag" ledger/rules.c ledger_rules '{PBOOST_PROBLEM_UNIT_REPEATED, repeated_units},' ''
mutant "a unit unit_rows times" ledger/rules.c ledger_rules '{PBOOST_PROBLEM_UNIT_SPENT, spent_units},' ''
mutant "quotas" ledger/rules.c ledger_tokens '{PBOOST_PROBLEM_QUOTA_EXCEEDED, over_quota},' ''
mutant "k of at least 2" ledger/rules.c ledger_rules 'rules->rules.min_bag < 2' 'rules->rules.min_bag < 1'
mutant "no noise only by name" ledger/rules.c ledger_rules 'rules->rules.epsilon.den == 0 && !rules->no_noise' 'false'
mutant "a weak epsilon is confirmed" ledger/rules.c ledger_rules 'is_weak(rules) && !rules->weak_privacy' 'false'
mutant "the epsilon of a unit is confirmed" ledger/rules.c ledger_rules '(pboost_u128)epsilon.num * rules->unit_rows' '(pboost_u128)epsilon.num'
mutant "what an oracle tells cannot steer a terminal" io/utf8.c unit_net_wire "*c < ' ' || *c == 0x7f ||" ""
mutant "the data sheet is part of the rules" ledger/rules.c ledger_rules 'TRY(pboost_sheet_set(&rules.sheet, i, pboost_read_text(&r), err));' '(void)pboost_read_text(&r);'
mutant "scopes" ledger/shards.c ledger_tokens 't->scope[slot[i]] != scope' 'false'
mutant "erased rows look unknown" ledger/shards.c ledger_tokens '(*pboost_labels_of(t, slot[i]) == NO_LABEL ||' '(false ||'
mutant "same id, other question" ledger/ledger.c ledger_rules 'stored.found && !pboost_digest_equal(&stored.hash, &a->hash)' 'false'
mutant "same id, same bytes" ledger/ledger.c ledger_rules '*answered = stored.found;' '*answered = false;'
mutant "unknown heads" ledger/ledger.c ledger_chain 'if (!known)' 'if (false)'
mutant "noise" core/oracle/rules.c ledger_rules 'if (number->noisy)' 'if (false)'
mutant "answers that a learner does not know" ledger/ledger.c ledger_vectors 'a->q->answer != l->rules.rules.answer' 'false'
mutant "answers that a learner does not know, through HTTP" server/handlers_query.c server_vectors 'question.answer = q.answer;' 'question.answer = pboost_ledger_get_rules(r->service->ledger)->rules.answer;'
mutant "names of classes are part of the rules" ledger/answer_rules.c ledger_vectors 'memcpy(rules->names, names, strlen(names) + 1);' 'memset(rules->names, 0, sizeof rules->names);'
mutant "claims of other processes are read" ledger/labels.c ledger_import 'last.number == t->link.number && pboost_digest_equal(&last.hash, &t->link.hash)' 'true'
mutant "a rollback under a running service" ledger/labels.c postgresql:ledger_chain 'mine.number < 0 || !pboost_digest_equal(&mine.hash, &t->link.hash)' 'false'
mutant "rules are in the chain" ledger/open.c ledger_rules 'memcmp(value[5].data, link.hash.byte, sizeof link.hash.byte) != 0' 'false'
mutant "expiry" ledger/token.c ledger_tokens 'token->expires != 0 && now >= token->expires' 'false'
mutant "revocation" ledger/token.c ledger_tokens 'if (token->state == PBOOST_TOKEN_REVOKED)' 'if (false)'
mutant "roles" ledger/token.c ledger_tokens '(PBOOST_MAY(token->role) & roles) == 0' 'false'
mutant "secrets are compared" ledger/token.c ledger_tokens 'sodium_memcmp(token.hash, r->hash.byte, sizeof r->hash.byte) == 0' 'true'
mutant "secrets are compared in constant time" ledger/token.c ledger_secrets 'sodium_memcmp(token.hash, r->hash.byte, sizeof r->hash.byte) == 0' 'memcmp(token.hash, r->hash.byte, sizeof r->hash.byte) == 0'
mutant "pending tokens" ledger/token.c ledger_approval 'token->state == PBOOST_TOKEN_PENDING' 'false'
mutant "an approval is looked at whenever a token is used" ledger/token.c ledger_approval 'return pboost_approval_check(problem, ledger, s, token, err);' 'return PBOOST_OK;'
mutant "an approval is a signature" ledger/approval.c ledger_approval 'approver->public_key) == 0' 'approver->public_key) <= 0'
mutant "a store that requires approval" ledger/approval.c ledger_approval 'token->role == PBOOST_LEARNER && require_approval' 'false'
mutant "later approvers need approval" ledger/approval.c ledger_approval 'token->role == PBOOST_APPROVER && !first' 'false'
mutant "its creator does not approve a token" ledger/approval.c ledger_approval 'if (strcmp(token->created_by, approver->name) == 0 ||' 'if ('
mutant "the signature of its creator is no approval" ledger/approval.c ledger_approval 'strcmp(token->created_by, approver->name) != 0 &&' ''
mutant "an approver is approved by an older one" ledger/approval.c ledger_approval 'approver->id < token->id' 'approver->id != token->id'
mutant "who creates a token" ledger/token.c ledger_approval 'PBOOST_MAY(PBOOST_OPERATOR) | PBOOST_MAY(PBOOST_APPROVER)' '~0u'
mutant "audit file: hash of an entry" ledger/audit_file.c ledger_audit_file '!pboost_digest_equal(&told.hash, &link.hash)' 'false'
mutant "audit file: seal of an entry" ledger/audit_file.c ledger_audit_file '!pboost_digest_equal(&told.seal, &link.seal)' 'false'
mutant "audit file: signature of the head" ledger/audit_file.c ledger_audit_file 'd.byte, sizeof d.byte, v->public_key) != 0' 'd.byte, sizeof d.byte, v->public_key) > 0'
mutant "audit file: entries under the head" ledger/audit_file.c ledger_audit_file 'head->entries != (uint64_t)v->link.number + 1' 'false'
mutant "audit file: its end" cli/oracle_audit_file.c server_govern '!out->whole' 'false'
mutant "audit file: it continues the older one" cli/oracle_audit_file.c server_govern 'strcmp(parsed.entry.head, old->head) != 0' 'false'
mutant "audit file: it is no shorter than the older one" cli/oracle_audit_file.c server_govern 'out->entries < old->entries' 'false'
mutant "audit: answers to tokens that were not valid" ledger/replay.c ledger_audit_file 'token->role != PBOOST_LEARNER || !alive(' 'false && !alive('
mutant "audit: quotas" ledger/replay.c ledger_audit_file 'token->max_rows != 0 && token->rows_used > token->max_rows' 'false'
mutant "audit: approvals" ledger/replay.c ledger_audit_file '!pboost_approval_valid(token, approver, &r->origin)' 'false'
mutant "audit files are for auditors" server/routes.c server_govern 'AUDITORS,' 'ANY_TOKEN,'
mutant "duplicate ids at import" ledger/import.c ledger_import 'if (!added)' 'if (false)'
mutant "labels stay with their rows at import" ledger/import.c ledger_import 'm->label + row * m->columns' 'm->label + i * m->columns'
mutant "known ids at import" ledger/import.c ledger_import 'if (slot != NO_NUMBER)
        FAIL' 'if (false)
        FAIL'
mutant "NaN at import" ledger/import.c ledger_import '!isfinite(label)' 'false'
mutant "bounds at import" ledger/import.c ledger_import 'outside && !m->in->clamp' 'false'
mutant "only classes of the store at import" ledger/import.c ledger_vectors 'if (outside && classes)' 'if (false)'
mutant "bad labels are taken in" ledger/import.c ledger_import 'm->in->replace_bad && (' 'false && ('
mutant "bad labels become a value within the bounds" ledger/import.c ledger_import 'm->in->bad_label <= b->upper' 'true'
mutant "dates that are past" cli/oracle_token.c cli_oracle 'if (*out <= now)' 'if (false)'
mutant "rows of a unit are erased" ledger/erase.c cli_oracle 'among(unit, e->n_units, t->unit[slot])' 'false'
mutant "each scope has a share of its own" ledger/labels.c ledger_scopes 't->share[number] = pboost_shares_find(&t->shares, value[1].data);' 't->share[number] = 0;'
mutant "a unit in two scopes" ledger/import.c ledger_scopes 'if (*home != scope)' 'if (false)'
mutant "a scope without a share" ledger/import.c ledger_scopes 'shares->named && pboost_shares_find(shares, name) == NO_NUMBER' 'false'
mutant "shares within unit_rows" ledger/shares.c ledger_scopes 'total > unit_rows' 'false'
mutant "refusals are limited" ledger/refusals.c ledger_scopes '(uint64_t)named < l->options.refusal_rows' 'true'
mutant "refusals are recorded" ledger/ledger.c ledger_scopes 'st == PBOOST_REFUSED && is_recorded(out)' 'false'
mutant "the limit comes before the rules" ledger/ledger.c ledger_scopes 'TRY(pboost_refusals_check(out, l, &a->token, err));' 'TRY(judge_shard(a, a->shard, err)); pboost_claims_merge(out, &a->shard->judged); TRY(pboost_claim_refuse(out, err)); pboost_shard_clear(a->shard); a->shard->entered = true; TRY(pboost_refusals_check(out, l, &a->token, err));'
mutant "the limit is told" cli/cmd_serve.c server_api 'ledger_options[i].refusal_rows = refusal_rows;' ''
mutant "erasure spends" ledger/erase.c ledger_import 'f->spend[f->n_spend++] = slot;' ';'
mutant "erasure takes the label" ledger/erase.c ledger_erase 'SET label = NULL, id = NULL' 'SET id = NULL'
mutant "erasure takes the id" ledger/erase.c ledger_erase 'SET label = NULL, id = NULL' 'SET label = NULL'
mutant "erasure takes the id of a unit" ledger/erase.c ledger_erase 'UPDATE ledger_unit SET id = NULL, digest' 'UPDATE ledger_unit SET digest'
mutant "erasure writes the file anew" ledger/store_sqlite.c ledger_erase '"VACUUM"' '"SELECT 1"'
mutant "erasure writes the tables anew, PostgreSQL" ledger/store_postgresql.c postgresql:ledger_erase '"VACUUM FULL %s.%s"' '"SELECT 1 -- %s.%s"'
mutant "no statistics of ids, PostgreSQL" ledger/store_postgresql.c postgresql:ledger_erase '.hide_ids = "ALTER id SET STATISTICS 0",' ''
mutant "erasure empties the log" ledger/store_sqlite.c ledger_erase 'sqlite3_wal_checkpoint_v2(of(s)->db, "main", SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL)' 'SQLITE_OK'
mutant "a reader that blocks an erasure" ledger/store_sqlite.c ledger_erase '(code & 0xff) == SQLITE_BUSY ||' '(code & 0xff) == SQLITE_BUSY) return PBOOST_OK; if ('
mutant "an erased id comes again" ledger/import.c ledger_erase 'uint32_t slot = pboost_labels_find(&m->ledger->labels, &m->ledger->keys, id);' 'uint32_t slot = pboost_ids_find(&m->ledger->labels.ids, id);'
mutant "an erased unit keeps its uses" ledger/import.c ledger_erase 'if (m->unit[i] != NO_NUMBER)' 'if (false)'
mutant "labels are authenticated" ledger/seal.c ledger_seal 'seal->key) != 0)' 'seal->key) == 7)'
mutant "each row has a nonce" ledger/seal.c ledger_seal 'pboost_put_number(out, (uint64_t)slot, 8);' ';'
mutant "each import has a key" ledger/seal.c ledger_seal 'memcpy(text + sizeof WHAT, salt, SALT_BYTES);' 'memset(text + sizeof WHAT, 0, SALT_BYTES);'
mutant "an import uses the newest key" ledger/seal.c ledger_seal 'TRY(pboost_keys_reload(s->keys, s->key_file, err));
    const' 'const'
mutant "a key that came later is read" ledger/seal.c ledger_seal 'TRY(pboost_keys_reload(r->store->keys, r->store->key_file, err));' ''
mutant "a new key is kept before it is used" ledger/rekey.c ledger_seal 'TRY(reseal(rows, &l->labels, s, err));' 'ledger_keys mine = l->keys; mine.label[0] = mine.label[mine.n_labels - 1]; mine.n_labels = 1; TRY(pboost_keys_write(&mine, s->key_file, true, err)); TRY(reseal(rows, &l->labels, s, err));'
mutant "old keys leave the file" ledger/rekey.c ledger_seal 'TRY(pboost_keys_write(&kept, s->key_file, true, err));' 'kept = l->keys;'
mutant "hash of an entry" ledger/audit.c ledger_chain 'memcmp(value[HASH].data, link.hash.byte, sizeof(digest)) != 0' 'false'
mutant "seal of a reply" ledger/audit.c ledger_chain 'memcmp(value[SEAL].data, link.seal.byte, sizeof(digest)) != 0' 'false'
mutant "sums are computed again" ledger/audit_answers.c ledger_vectors 'known && !same' 'false'
mutant "MAC of an entry, in an audit" ledger/audit.c ledger_chain 'sodium_memcmp(value[MAC].data, mac.byte, sizeof mac.byte) != 0' 'false'
mutant "names of units and scopes" ledger/audit.c ledger_upgrade '!pboost_digest_equal(&now.range[i].hash, &list->range[i].hash)' 'false'
mutant "tokens are as the chain says" ledger/audit.c ledger_upgrade 'if (!pboost_digest_equal(&here, &there))' 'if (false)'
mutant "only a sound store is upgraded" ledger/upgrade.c ledger_upgrade 'if (audit.problems > 0)' 'if (false)'
mutant "stores of other versions" ledger/store.c ledger_upgrade 'if (*out > PBOOST_STORE_VERSION)' 'if (false)'
mutant "key files that others can read" ledger/key.c ledger_upgrade '(about.st_mode & (S_IRWXG | S_IRWXO)) != 0' 'false'
mutant "key files of other stores" ledger/open.c ledger_upgrade 'strcmp(id, key_id) != 0' 'false'
mutant "the file is still the one that is open" ledger/store_sqlite.c ledger_integrity 'return a->st_dev == b->st_dev && a->st_ino == b->st_ino;' 'return true;'
mutant "a file that was written to is looked at" ledger/store_sqlite.c ledger_integrity 's->touched = s->touched || !is_untouched(&file, &of(s)->file);' ';'
mutant "what was looked at is the same store" ledger/open.c ledger_integrity 'here.number < 0 || !pboost_digest_equal(&here.hash, &side->seen.hash)' 'false'
mutant "a store older than its witness" ledger/witness.c ledger_restore 'here.number < 0 || !pboost_digest_equal(&here.hash, &w->last.hash)' 'false'
mutant "a store older than its witness, through HTTP" ledger/witness.c server_integrity 'here.number < 0 || !pboost_digest_equal(&here.hash, &w->last.hash)' 'false'
mutant "a store without its witness" ledger/witness.c ledger_restore 'if (w->fd < 0 && errno == ENOENT) {' 'if (w->fd < 0 && errno == ENOENT) { return PBOOST_OK;'
mutant "the witness before the reply" ledger/ledger.c ledger_witness 'return pboost_ledger_cover(h->l, h->entry, err);' 'return PBOOST_OK;'
mutant "the store is synced before the witness" ledger/witness.c ledger_syncs 'TRY(sync_store(from, err));
    TRY(write_out(w, &a.out, from, err));' 'TRY(write_out(w, &a.out, from, err));
    TRY(sync_store(from, err));'
mutant "the witness is on the disk" ledger/witness.c ledger_witness 'fdatasync(w->fd) != 0' 'false'
mutant "the witness is still there" ledger/witness.c ledger_witness 'if (!still_there(w)) {' 'if (false) {'
mutant "records of the witness are authenticated" ledger/witness.c ledger_witness 'sodium_memcmp(mac.byte, byte + length - sizeof mac.byte, sizeof mac.byte) == 0' 'true'
mutant "a record that is not whole is cut off" ledger/witness.c ledger_witness 'if (about.st_size != w->size && ftruncate(w->fd, w->size) != 0)' 'if (false)'
mutant "a restore spends what was answered" ledger/restore.c ledger_restore '{"answer", redo_answer},' ''
mutant "a restore counts units" ledger/restore.c ledger_restore 'TRY(use_unit(r, t->unit[r->slot[i]], pboost_labels_share(t, r->slot[i]), 1, err));' ';'
mutant "a restore repeats erasures" ledger/restore.c ledger_restore '{"forget", redo_forget},' ''
mutant "a restore repeats revocations" ledger/restore.c ledger_restore '{"revoke", redo_revoke},' ''
mutant "a restore without witness spends every row" ledger/restore.c ledger_restore 'TRY(burn(r, "burn-all", 0, n, err));' ';'
mutant "rows that were lost do not come in again" ledger/import.c ledger_restore 'TRY(check_lost(m, s, err));' ';'
mutant "heads that were lost stay known" ledger/chain.c ledger_restore '" + (SELECT count(*) FROM ledger_lost_head WHERE hash = $1)"' '""'
mutant "the head of an earlier fit is sent" net/head.c server_learner 'if (strcmp(owner, mine) == 0)' 'if (false)'
mutant "a nonce in what is released" ledger/ledger.c ledger_integrity 'TRY(pboost_draw_bytes(h->nonce, NONCE_BYTES, err));' ';'
mutant "a nonce in the seal" ledger/ledger.c ledger_integrity 'pboost_chain_seal(&own->link, own->nonce, out->body, out->length);' 'pboost_chain_seal(&own->link, (unsigned char[NONCE_BYTES]){0}, out->body, out->length);'
mutant "MAC of a token" ledger/token.c ledger_integrity 'if (!whole || sodium_memcmp(value[MAC].data, mac.byte, sizeof mac.byte) != 0)' 'if (!whole)'
mutant "MAC of an entry" ledger/chain.c ledger_integrity 'if (!pboost_digest_equal(&mac, &right))' 'if (false)'
mutant "the chain is replayed at opening" ledger/open.c ledger_integrity 'if (audit.problems > 0 && !l->options.inspect)' 'if (false)'
mutant "spent rows, by the store" ledger/claims.c ledger_rules '(*byte & bit) != 0' 'false'
mutant "the constraint on blocks of spent rows" ledger/store.c ledger_claims 'block INTEGER PRIMARY KEY' 'block INTEGER'
mutant "spent rows are those that the chain names" ledger/audit.c ledger_integrity 'spent && a->claimed[slot] == 0' 'false'
mutant "rows that the chain names are spent" ledger/audit.c ledger_integrity '!spent && a->claimed[slot] != 0' 'false'
mutant "an upgrade keeps every claim" ledger/upgrade.c ledger_upgrade 'TRY(pboost_claims_add(s, claims.slot, claims.n, (size_t)claims.rows, err));' ';'
mutant "the constraint on units" ledger/store.c ledger_rules ', PRIMARY KEY (unit, use))~' ''
mutant "writers take turns" ledger/store_sqlite.c ledger_races 'write ? "BEGIN IMMEDIATE" : "BEGIN"' '"BEGIN"'
mutant "a failed fsync breaks the store" ledger/store_sqlite.c fault_ledger 'primary == SQLITE_IOERR ||' ''
mutant "checkpoints are watched" ledger/store_sqlite.c fault_ledger '(void)checkpoint(s, SQLITE_CHECKPOINT_PASSIVE, NULL);' '(void)sqlite3_wal_checkpoint(of(s)->db, NULL);'
# several stores of one oracle
mutant "one draw of noise for all stores" ledger/ledger.c ledger_stores '*total += a->shard[i].total[b * a->width + j];' '{ int64_t other = a->shard[i].total[b * a->width + j]; TRY(pboost_number_release(&other, &l->number[j], &source, err)); *total += other; }'
mutant "the sum has the rows of all stores" ledger/ledger.c ledger_stores '*total += a->shard[i].total[b * a->width + j];' ';'
mutant "only all stores together answer" ledger/ledger.c ledger_stores 'TRY(pboost_ledger_check_whole(ledger, err));' ';'
mutant "only all stores together are served" cli/cmd_serve.c server_stores 'TRY(pboost_ledger_check_whole(ledger, err));' ';'
mutant "stores of one oracle" ledger/stores.c ledger_stores 'strcmp(r->oracle, l[0]->rules.oracle) != 0' 'false'
mutant "stores with the same rules" ledger/stores.c ledger_stores 'TRY(check_same_rules(l[0], l[i], err));' ';'
mutant "a store is given once" ledger/stores.c ledger_stores 'if (l[j]->rules.store == r->store)' 'if (false)'
mutant "tokens are in the first store" ledger/token.c ledger_stores 'TRY(pboost_ledger_check_first(ledger, err));' ';'
mutant "what was interrupted is not answered again" ledger/ledger.c ledger_stores 'if (begun > 0) {' 'if (false) {'
mutant "claims are committed before the answer" ledger/ledger.c torture_ledger_kill 'TRY(pboost_shards_each(a, own + 1, a->n_shards - 1, commit_shard, err));
    TRY(commit_shard(a, own, err));' 'TRY(commit_shard(a, own, err));
    TRY(pboost_shards_each(a, own + 1, a->n_shards - 1, commit_shard, err));' 300 1 2
mutant "claims are synced before the answer" ledger/ledger.c ledger_syncs 'h == a->shard ? pboost_store_commit_unsynced(s, err) : pboost_store_commit(s, err)' 'pboost_store_commit_unsynced(s, err)'
mutant "nothing is written before all stores agree" ledger/ledger.c ledger_stores 'TRY(pboost_claim_refuse(out, err));' 'TRY(pboost_shards_each(a, a->shard, a->n_shards, claim_shard, err)); TRY(pboost_claim_refuse(out, err));'
mutant "rows by their own store" ledger/import.c ledger_stores 'pboost_id_store(by[i], stores) == number)
            copy_row' 'true)
            copy_row'
mutant "a unit in one store" ledger/import.c ledger_stores 'in->unit != NULL ? in->unit : in->id' 'in->id'
mutant "an id in one store, at import" ledger/import.c ledger_stores 'TRY(check_elsewhere(&d[i], &d[j], err));' ';'
mutant "an id in one store, at opening" ledger/notes.c ledger_stores 'if (pboost_stores_find_twice(problem, ledger) != PBOOST_OK)' 'if (false)'
mutant "an answer has its claims, at opening" ledger/stores.c ledger_stores 'TRY(pboost_stores_check(*out, err));' ';'
mutant "an answer has its claims, in an audit" ledger/audit_answers.c ledger_stores "if (*problem != '\\0')" 'if (false)'
mutant "tokens count the rows of all stores" ledger/ledger.c ledger_stores 'pboost_token_spend(l->write.store, &token, a->n, err)' 'pboost_token_spend(l->write.store, &token, own->n, err)'
mutant "bags are as large as in all stores" ledger/rules.c ledger_stores 'whole[b + 1] - whole[b] <' 'j->claim->start[b + 1] - j->claim->start[b] <'
mutant "a restore spends claims of other answers" ledger/restore.c ledger_stores '{"claim", redo_answer},' ''
mutant "one transaction" ledger/ledger.c fault_ledger 'TRY(pboost_shards_each(a, own, a->n_shards, answer_bags, err));' 'TRY(pboost_store_commit(l->write.store, err)); TRY(pboost_store_begin(l->write.store, true, err)); TRY(pboost_shards_each(a, own, a->n_shards, answer_bags, err));'
mutant "answer only after commit" ledger/ledger.c torture_ledger_kill 'TRY(h == a->shard ? pboost_store_commit_unsynced' 'static int late; if (++late % 3 == 0) TRY(h == a->shard ? pboost_store_commit_unsynced' 60
mutant "commits are synced" ledger/store_sqlite.c ledger_syncs 'if (st == PBOOST_OK && durable)' 'if (false)'
mutant "checkpoints are synced" ledger/store_sqlite.c ledger_durability 'PRAGMA synchronous = NORMAL' 'PRAGMA synchronous = OFF'
mutant "the name of the log is synced" ledger/store_sqlite.c ledger_syncs '|| !pboost_sync_folder(of(s)->log)' ''
mutant "an answer is synced before its reply" ledger/witness.c ledger_syncs 'TRY(sync_store(from, err));' ';'
mutant "an answer without witness is synced before its reply" ledger/witness.c ledger_syncs 'return sync_store(from, err);' 'return PBOOST_OK;'
mutant "a retry waits for the sync" ledger/ledger.c ledger_syncs 'i == 0 ? stored.entry : INT64_MAX' 'i == 0 ? -1 : INT64_MAX'
mutant "a reply that is looked up waits for the sync" ledger/ledger.c ledger_syncs 'st = pboost_ledger_cover(ledger, stored.entry, err);' ';'
mutant "totals and entries are synced before they are told" ledger/watch.c ledger_syncs 'if (last->number > l->witness.covered)' 'if (false)'
mutant "no sync of the log after a failed one" ledger/store_sqlite.c ledger_syncs 'if (!of(s)->sync_failed)' 'if (true)'
mutant "a broken store is left as it is" ledger/open.c ledger_syncs 'side[i]->broken = broken;' ';'
mutant "no answer after a failed sync" ledger/open.c ledger_syncs 'pboost_ledger_broken(l) ? refuse_broken(err) : ' ''
mutant "commits are synced, PostgreSQL" ledger/store_postgresql.c postgresql:ledger_durability "ELSE 'on' END, true)" "ELSE current_setting('synchronous_commit') END, true)"
mutant "settings for each transaction" ledger/store_postgresql.c postgresql:ledger_durability 'st = settle(s, err);' 'st = of(s)->schema[0] == 0 ? settle(s, err) : PBOOST_OK; /* when it is opened */'
mutant "the tables of the store that was opened" ledger/store_postgresql.c postgresql:ledger_durability "ELSE \$5 || ', pg_temp' END" "ELSE \$5 END"
mutant "a server that does not sync" ledger/store_postgresql.c postgresql:ledger_durability '{"fsync", "on"}' '{"full_page_writes", "on"}'
mutant "a server that continues after a failed fsync" ledger/store_postgresql.c postgresql:ledger_durability '{"data_sync_retry", "off"}' '{"full_page_writes", "on"}'
mutant "writers take turns, PostgreSQL" ledger/store_postgresql.c postgresql:ledger_durability 'if (write && !of(s)->creating)' 'if (false)'
mutant "the schema that the role has" ledger/store_postgresql.c postgresql:server_database "(SELECT reset_val FROM pg_settings\"
               \" WHERE name = 'search_path')" "current_setting('search_path')" Poolers
mutant "standbys are looked for" ledger/open.c postgresql:server_database 'if (l->options.check_standbys &&' 'if (false &&' Standbys.test_commits_wait_for_every_standby_or_the_service_does_not_start
mutant "standbys that commits do not wait for" ledger/store_postgresql.c postgresql:server_database " OR r.sync_state = 'async'" '' Standbys.test_commits_wait_for_every_standby_or_the_service_does_not_start
mutant "standbys that are down" ledger/store_postgresql.c postgresql:server_database 'AND NOT active AND' 'AND false AND' Standbys.test_a_standby_that_is_down_has_a_slot
mutant "standbys are looked for again" ledger/store_postgresql.c postgresql:server_database 'if (of(s)->no_async_standby)' 'if (false)' Standbys.test_a_service_that_loses_its_server_looks_again
mutant "no service on a standby" ledger/store_postgresql.c postgresql:server_database 'if (value[0].number != 0)' 'if (false)' Standbys.test_a_standby_is_not_served
mutant "no password in a query's source" cli/query_postgresql.c cli_query 'TRY(refuse_password(options, err));' ''
mutant "no password in a message" cli/query_postgresql.c cli_query 'has_stray_at(place) || ' ''
mutant "a query only reads" cli/query_sqlite.c cli_query '!sqlite3_stmt_readonly(q->statement) || ' ''
mutant "a query only reads, PostgreSQL" cli/query_postgresql.c postgresql:cli_query 'REPEATABLE READ READ ONLY' 'REPEATABLE READ'
mutant "no password in the arguments" ledger/store_postgresql.c postgresql:server_database 'TRY(refuse_password(url, err));' '' Passwords.test_not_in_the_arguments
mutant "one transaction, PostgreSQL" ledger/ledger.c postgresql:fault_ledger_postgresql 'TRY(pboost_shards_each(a, own, a->n_shards, answer_bags, err));' 'TRY(pboost_store_commit(l->write.store, err)); TRY(pboost_store_begin(l->write.store, true, err)); TRY(pboost_shards_each(a, own, a->n_shards, answer_bags, err));'
mutant "a lost connection is made again" ledger/store_postgresql.c postgresql:fault_ledger_postgresql 'PQreset(of(s)->connection);' ';'
mutant "who asks is asked for a token" server/request.c server_api 'r->route->roles == ANYONE' 'true'
mutant "a learner sees only itself" server/handlers_watch.c server_api '(role & (AUDITORS | APPROVER)) != 0' 'true'
mutant "bodies have a limit" server/request.c server_limits 'r->length + length > r->service->options.max_body' 'false'
mutant "no body where none is taken" server/request.c server_framing 'has_body && r->route != NULL && r->route->content_types == NULL' 'false'
mutant "a share of the bytes" server/shares.c server_greedy 'a->bytes + more <= free_bytes - more' 'true'
mutant "replies count" server/request.c server_greedy '!pboost_share_bytes(r, r->reply.lent ? 0 : r->reply.length)' 'false'
mutant "replies wait where they count" server/listen.c server_greedy 'IPPROTO_TCP, TCP_NOTSENT_LOWAT' 'IPPROTO_TCP, TCP_MAXSEG'
mutant "what reading a body takes counts" server/request.c server_greedy 'bytes += pboost_wire_cost(r->format, r->body, r->length, width);' ';'
mutant "a share of the connections" server/shares.c server_greedy 'a->connections + 1 <= s->most_connections - s->connections' 'true'
mutant "strangers make room" server/connections.c server_greedy 'all->n - all->n_ended + 1 + spare > s->most_connections' 'false'
mutant "who has a token stays" server/connections.c server_greedy 'c->owner != &s->strangers || ' ''
mutant "a share of the threads" server/workers.c unit_server_workers 'r->on->owner->working + 1 > N_WORKERS - w->busy' 'false'
mutant "whoever waits first goes first" ledger/open.c ledger_races 'while (side->serving != mine)' 'while (false)'
mutant "connections of an address" server/addresses.c server_greedy '(double)s->connections < limit(s, all->most_connections, CONNECTIONS)' 'true'
mutant "requests of an address" server/request.c server_greedy '!pboost_address_request(&s->addresses, r->on->from)' 'false'
mutant "totals are for operators" server/routes.c server_greedy '"metrics",   AUDITORS,' '"metrics",   ANYONE,'
mutant "metrics for this machine only" server/server.c server_greedy 'options->metrics_listen, true, err' 'options->metrics_listen, false, err'
mutant "only health and metrics without a token" server/request.c server_greedy 'r->monitoring && r->route != NULL && !r->route->for_monitoring' 'false'
mutant "status costs the same for any ledger" ledger/watch.c ledger_chain 'value_number(hold ? ledger->totals_link.number : -1)' '(hold ? (totals = (pboost_ledger_status){.store = s->class->name}, value_number(-1)) : value_number(-1))'
mutant "status is of the chain that is there" ledger/watch.c ledger_chain 'now.number == link->number && pboost_digest_equal(&now.hash, &link->hash)' 'true'
mutant "two lengths" server/framing.c server_framing 'f.lengths > 1' 'false'
mutant "two framings" server/framing.c server_framing 'f.encodings > 0 && f.lengths > 0' 'false'
mutant "one encoding" server/framing.c server_framing 'f.encodings > 1 || ' ''
mutant "a known encoding" server/framing.c server_framing 'strcasecmp(f.encoding, "chunked") != 0' 'false'
mutant "an encoding in HTTP/1.0" server/framing.c server_framing 'f.encodings > 0 && strcmp(version, "HTTP/1.1") != 0' 'false'
mutant "names of headers" server/framing.c server_framing '!is_token(name, n) ||' ''
mutant "lines that go on" server/framing.c server_framing '(uintptr_t)value < (uintptr_t)name' 'false'
mutant "values of headers" server/framing.c server_framing '!is_value(value, value_length)' 'false'
mutant "two hosts" server/framing.c server_framing 'f.hosts > 1' 'false'
mutant "the connection is closed" server/request.c server_greedy 'r->closes || atomic_load' 'atomic_load'
mutant "who dribbles is cut off" server/connections.c server_limits 'now > c->deadline' 'false'
mutant "nobody is let in while it stops" server/request.c server_limits 'if (atomic_load(&s->draining))' 'if (false)'
mutant "running requests finish" server/server.c server_limits 'drain(s);' ';'
mutant "a broken store ends the service" server/request.c server_limits 'pboost_ledger_broken(s->ledger)' 'false'
mutant "no core dumps" server/server.c server_api 'setrlimit(RLIMIT_CORE, &none) != 0 ||' ''
mutant "no memory for others" server/server.c server_api '|| prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0' ''
mutant "the socket is private" server/listen.c server_api 'umask(0177)' 'umask(0)'
mutant "no plain HTTP to others" server/listen.c server_api 'plain && !pboost_is_loopback(found->ai_addr)' 'false'
mutant "no plain HTTP unless asked for" server/server.c server_api '!has_tls && !is_unix && !o->insecure_http' 'false'
mutant "old versions of TLS" server/server.c server_tls '(void *)(uintptr_t)PRIORITIES' '(void *)(uintptr_t)"LEGACY:+VERS-TLS1.0:+VERS-TLS1.1"'
mutant "forward secrecy" server/server.c server_tls '-KX-ALL:+ECDHE-ECDSA:+ECDHE-RSA:' ''
mutant "authenticated encryption" server/server.c server_tls '"+AES-256-GCM:+CHACHA20-POLY1305:+AES-128-GCM:-MAC-ALL:+AEAD"' '"+CIPHER-ALL"'
mutant "new certificates" server/server.c server_tls 'if (atomic_exchange(&reload_asked, false))' 'if (false)'
mutant "files that cannot be used change nothing" server/tls.c server_tls 'TRY(make_credentials(f, o, err));' '(void)make_credentials(f, o, err);'
mutant "clients have a certificate" server/tls.c server_tls 'gnutls_certificate_server_set_request(session, GNUTLS_CERT_REQUIRE);' ';'
mutant "who signed a client's certificate" server/tls.c server_tls 'gnutls_session_set_verify_cert2(session, &purpose, 1, 0);' ';'
mutant "what a client's certificate is for" server/tls.c server_tls '&purpose, 1, 0' '&purpose, 0, 0'
mutant "the learner shows its certificate" net/http.c server_tls 'c->options.client_cert != NULL &&' 'false &&'
mutant "429 is tried again" net/http.c server_learner ' && out->status != 429' ''
mutant "who signed the certificate" net/http.c server_tls 'CURLOPT_SSL_VERIFYPEER, 1L' 'CURLOPT_SSL_VERIFYPEER, 0L'
mutant "whose certificate it is" net/http.c server_tls 'CURLOPT_SSL_VERIFYHOST, 2L' 'CURLOPT_SSL_VERIFYHOST, 0L'
mutant "no token without encryption" net/http.c server_learner 'is_http && !is_loopback(url + 7)' 'false'
mutant "answers to another question" net/remote.c server_learner 'strcmp(a->request_id, q->request_id) != 0' 'false'
mutant "noise other than announced" net/remote.c server_learner 'epsilon = rules->epsilon;' 'epsilon = a->epsilon;'
mutant "answers of another kind" net/remote.c server_classes 'a->answer != rules->answer || a->width != rules->width' 'a->width != rules->width'
mutant "answers of another width" net/remote.c server_classes 'a->answer != rules->answer || a->width != rules->width' 'a->answer != rules->answer'
mutant "counts that are whole numbers" net/remote.c server_classes 'count[j] != rint(count[j]) ||' ''
mutant "counts that are not below 0" net/remote.c server_classes '(!a->dp && count[j] < 0)' 'false'
mutant "counts that add up" net/remote.c server_classes '!a->dp && sum != (double)a->size[b]' 'false'
mutant "kept: a question before it is sent" net/remote.c server_checkpoint 'TRY(pboost_round_write(out, r->checkpoint, round, err));' ';'
mutant "kept: an answer before it is used" net/remote.c server_checkpoint 'TRY(pboost_checkpoint_write(r->checkpoint, name, body, length, err));' ';'
mutant "kept: on the disk" net/checkpoint.c server_checkpoint 'return fsync(fd) == 0;' 'return true;'
mutant "kept: how a round is cut" net/remote.c server_checkpoint 'out->n_parts = kept.n_parts;' '{ kept.end = end; out->end = end; end = NULL; goto done; }'
mutant "kept: bags of a round that was begun" cli/train_run.c server_checkpoint 'if (oracle->remote != NULL)' 'if (false)'
mutant "kept: without being asked to" cli/train_checkpoint.c server_checkpoint 'if (a->no_checkpoint)' 'if (a->no_checkpoint || a->checkpoint == NULL)'
mutant "kept: which table it was" cli/train_checkpoint.c server_checkpoint 'memcmp(bytes, data->hash, TRAIN_HASH) != 0' 'false'
mutant "kept: which options there were" cli/train_checkpoint.c server_checkpoint 'n == length && memcmp(run, kept, n) == 0' 'true'
mutant "kept: the order of the rows" cli/train_checkpoint.c server_checkpoint 'TRY(train_rows_arrange(data, row, rows->n_rows, err));' ';'
mutant "kept: answers of a fit that must not be used" cli/cmd_train.c server_checkpoint '!result.usable && !a->force' 'false'
mutant "kept: the quota is looked at first" cli/train_remote.c server_checkpoint 'rows > left' 'false'
mutant "several oracles: bags are made within one" core/train/trainer.c server_group 'return t->options.parts > 1 ?' 'return false ?'
mutant "several oracles: a bag has rows of one" net/group.c server_group 'i > bags->start[b] && part != *out' 'false'
mutant "several oracles: their rules are equal" net/group.c server_group 'TRY(compare_rules(g, i, err));' ';'
mutant "several oracles: the largest k" net/group.c server_group 'rules.min_bag > g->rules.min_bag ?' 'i == 0 ?'
mutant "several oracles: all bags are kept before one is sent" net/group.c server_group 'TRY(keep_round(s, g, round, err));' ';'
mutant "several oracles: bags that were never sent are not used" net/group.c server_group '&s[i].bags, !begun, err' '&s[i].bags, false, err'
mutant "several oracles: ids of its own rows only" cli/train_remote.c server_group 'given ? data->part[i] == number : !keep[i]' '!keep[i]'
mutant "the page's policy" server/request.c server_page "default-src 'none'" "default-src 'self'"
[ "$list" ] || echo "$killed caught, $survivors survived"
[ "$survivors" -eq 0 ]
