#!/usr/bin/env bash
# --help, man pages and completions say the same, for every command.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

expect 0 priorboost help
cp stdout commands
expect 0 priorboost --help
cmp commands stdout || fail "help and --help differ"
expect 0 priorboost -h
cmp commands stdout || fail "-h and --help differ"
mapfile -t names < <(sed -n 's/^  \([a-z]*\)  *.*/\1/p' commands)
expect 0 priorboost oracle --help
mapfile -t of_oracle < <(sed -n 's/^  \(oracle [a-z-]*\)  *.*/\1/p' stdout)
[ ${#names[@]} -ge 10 ] && [ ${#of_oracle[@]} -ge 7 ] || fail "commands: ${names[*]} ${of_oracle[*]}"

expect 0 priorboost help --write made
for name in "${names[@]}" "${of_oracle[@]}"; do
    page=made/man1/priorboost-${name// /-}.1
    [ -s "$page" ] || fail "no man page of $name"
    # shellcheck disable=SC2086
    expect 0 priorboost help --man $name
    cmp stdout "$page" || fail "help --man $name is not $page"
    [ "$name" = oracle ] && continue
    # shellcheck disable=SC2086
    expect 0 priorboost $name --help
    cp stdout said
    # shellcheck disable=SC2086
    expect 0 priorboost help $name
    cmp stdout said || fail "help $name is not $name --help"
    # shellcheck disable=SC2086
    expect 0 priorboost $name -h
    cmp stdout said || fail "$name -h is not $name --help"
    ! grep -E '^  --[a-z0-9-]+ [^ ]+ [^ ]' said || fail "$name --help: an option runs into its text"
    for option in $(grep -oE '^  --[a-z0-9-]+' said); do
        grep -qF -- "${option//-/\\-}" "$page" || fail "$page does not know $option"
        for shell in bash/priorboost zsh/_priorboost; do
            grep -qF -- "$option" "made/$shell" || fail "$shell does not know $option"
        done
        grep -qF -- " -l ${option#--}" made/fish/priorboost.fish || fail "fish does not know $option"
    done
done
if command -v mandoc >/dev/null; then
    mandoc -T lint -W warning made/man1/*.1 | grep -v 'missing date' >complaints || true
    [ ! -s complaints ] || fail "man pages: $(head -n 5 complaints)"
fi

# ---- bash, as it would complete: a line in, words out ----
offered() {
    (
        # shellcheck disable=SC1091
        . made/bash/priorboost
        COMP_WORDS=("$@")
        COMP_CWORD=$(($# - 1))
        _priorboost 2>/dev/null
        echo "${COMPREPLY[*]}"
    )
}
completes() {
    local want=$1 got
    shift
    got=$(offered "$@")
    [ "$got" = "$want" ] || fail "'$*' is completed by '$got', not '$want'"
    checks=$((checks + 1))
}
touch model.json
mkdir models
completes "train" priorboost tr
completes "report reproduce" priorboost rep
completes "linear logistic poisson classes" priorboost train --family ""
completes "features" priorboost train --bags f
completes "model.json models" priorboost predict --model mod
completes "models" priorboost train --checkpoint mod
completes "" priorboost train --label ""
completes "--token-file" priorboost train --tok
completes "init import" priorboost oracle i
completes "--min-bag" priorboost oracle init --min
completes "create" priorboost oracle token c
completes "model.json models" priorboost report model.json mod
completes "privacy" priorboost reproduce p
for shell in zsh fish; do
    command -v $shell >/dev/null || continue
    $shell -n made/$shell/* || fail "the completion for $shell is not $shell"
done
if command -v fish >/dev/null; then
    got=$(HOME=$work fish -c 'source made/fish/priorboost.fish; complete -C "priorboost oracle init --min"' | cut -f1)
    [ "$got" = --min-bag ] || fail "fish offers '$got'"
fi

# ---- what is wrong ----
expect 2 priorboost help nonsense
says "command 'nonsense' is unknown"
expect 2 priorboost help oracle init more
expect 2 priorboost help --completion tcsh
says "it must be bash, zsh or fish"
expect 1 priorboost help --write /nowhere/made
finish
