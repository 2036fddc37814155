/* Help as completions for bash, zsh and fish: one block for each command. */
#include <stdio.h>
#include <string.h>

#include "cli.h"

/* What a shell can offer for a value. */
typedef enum { NOTHING, FILES, FOLDERS, WORDS } kind;

static kind kind_of(const char *value)
{
    if (value == NULL)
        return NOTHING;
    if (strcmp(value, "DIR") == 0)
        return FOLDERS;
    if (strcmp(value, "FILE") == 0 || strcmp(value, "FILE...") == 0 || strcmp(value, "RUN...") == 0)
        return FILES;
    return strchr(value, '|') != NULL && strpbrk(value, "[ ") == NULL ? WORDS : NOTHING;
}

/* a|b|c as "a b c". */
static void put_words(FILE *out, const char *value)
{
    for (const char *c = value; *c != '\0'; c++)
        fputc(*c == '|' ? ' ' : *c, out);
}

/* On one line, with the characters of `special` escaped by a backslash, inside single quotes. */
static void put_quoted(FILE *out, const char *text, const char *special, const char *quote)
{
    for (const char *c = text; *c != '\0'; c++) {
        if (*c == '\'')
            fputs(quote, out);
        else if (*c == '\n')
            fputc(' ', out);
        else {
            if (strchr(special, *c) != NULL)
                fputc('\\', out);
            fputc(*c, out);
        }
    }
}

/* The text that makes a shell offer values, by kind; the words of WORDS go between the two. */
typedef struct {
    const char *before, *after;
} offer;

static void put_value(FILE *out, const offer *offers, const char *value)
{
    kind k = kind_of(value);
    fputs(offers[k].before, out);
    if (k == WORDS)
        put_words(out, value);
    fputs(offers[k].after, out);
}

static const char *second_word(const char *command)
{
    const char *space = strchr(command, ' ');
    return space != NULL ? space + 1 : NULL;
}

/* Options of the command, then those of every command. */
static const cli_option *option_at(const cli_page *page, size_t i)
{
    return i < page->n_options ? &page->options[i] : &CLI_COMMON_OPTIONS[i - page->n_options];
}

static size_t n_options(const cli_page *page)
{
    return page->n_options + CLI_COMMON;
}

/* ---- bash ------------------------------------------------------------------------------------ */

static void put_names(FILE *out, bool of_oracle)
{
    size_t n;
    const cli_command *commands = of_oracle ? cli_oracle_commands(&n) : cli_commands(&n);
    for (size_t i = 0; i < n; i++) {
        const char *second = of_oracle ? second_word(commands[i].name) : NULL;
        fprintf(out, "%s%s", i > 0 ? " " : "", second != NULL ? second : commands[i].name);
    }
}

static void bash_begin(FILE *out)
{
    fputs("# bash completion of priorboost; made by 'priorboost help --completion bash'\n"
          "_priorboost_words() { mapfile -t COMPREPLY < <(compgen -W \"$*\" -- \"$cur\"); }\n"
          "_priorboost_paths() {\n"
          "    compopt -o filenames 2>/dev/null\n"
          "    mapfile -t COMPREPLY < <(compgen \"$1\" -- \"$cur\")\n"
          "}\n"
          "_priorboost() {\n"
          "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
          "    local command=${COMP_WORDS[1]}\n"
          "    COMPREPLY=()\n"
          "    if ((COMP_CWORD == 1)); then\n        _priorboost_words ",
          out);
    put_names(out, false);
    fputs(" --help --version\n        return\n    fi\n"
          "    if [[ $command == oracle ]]; then\n        if ((COMP_CWORD == 2)); then\n"
          "            _priorboost_words ",
          out);
    put_names(out, true);
    fputs(" --help\n            return\n        fi\n"
          "        command=\"oracle ${COMP_WORDS[2]}\"\n    fi\n"
          "    case $command in\n",
          out);
}

static const offer BASH[] = {[NOTHING] = {"return", ""},
                             [FILES] = {"_priorboost_paths -f", ""},
                             [FOLDERS] = {"_priorboost_paths -d", ""},
                             [WORDS] = {"_priorboost_words ", ""}};

static void bash_page(void *to, const cli_page *page)
{
    FILE *out = to;
    fprintf(out, "    '%s')\n        case $prev in\n", page->command);
    for (size_t i = 0; i < page->n_options; i++)
        if (page->options[i].value != NULL) {
            fprintf(out, "        %s) ", page->options[i].name);
            put_value(out, BASH, page->options[i].value);
            fputs("; return ;;\n", out);
        }
    fputs("        esac\n", out);
    if (kind_of(page->usage->operand) != NOTHING) {
        fputs("        [[ $cur == -* ]] || { ", out);
        put_value(out, BASH, page->usage->operand);
        fputs("; return; }\n", out);
    }
    fputs("        _priorboost_words", out);
    for (size_t i = 0; i < n_options(page); i++)
        fprintf(out, " %s", option_at(page, i)->name);
    fputs("\n        ;;\n", out);
}

static void bash_end(FILE *out)
{
    fputs("    esac\n}\ncomplete -F _priorboost priorboost\n", out);
}

/* ---- zsh ------------------------------------------------------------------------------------- */

static void zsh_names(FILE *out, bool of_oracle)
{
    size_t n;
    const cli_command *commands = of_oracle ? cli_oracle_commands(&n) : cli_commands(&n);
    fputs("        local -a commands=(\n", out);
    for (size_t i = 0; i < n; i++) {
        fprintf(out,
                "            '%s:", of_oracle ? second_word(commands[i].name) : commands[i].name);
        put_quoted(out, commands[i].summary, ":", "'\\''");
        fputs("'\n", out);
    }
    fputs("        )\n        _describe command commands\n        return\n", out);
}

static void zsh_begin(FILE *out)
{
    fputs("#compdef priorboost\n"
          "# zsh completion of priorboost; made by 'priorboost help --completion zsh'\n"
          "_priorboost() {\n    if (( CURRENT == 2 )); then\n",
          out);
    zsh_names(out, false);
    fputs("    fi\n    local command=$words[2]\n    shift words\n    (( CURRENT-- ))\n"
          "    if [[ $command == oracle ]]; then\n        if (( CURRENT == 2 )); then\n",
          out);
    zsh_names(out, true);
    fputs("        fi\n        command=\"oracle $words[2]\"\n        shift words\n"
          "        (( CURRENT-- ))\n    fi\n    case $command in\n",
          out);
}

static const offer ZSH[] = {[NOTHING] = {"", ""},
                            [FILES] = {"_files", ""},
                            [FOLDERS] = {"_files -/", ""},
                            [WORDS] = {"(", ")"}};

static void zsh_value(FILE *out, const char *name, const char *value)
{
    fputc(':', out);
    put_quoted(out, name, ":", "'\\''");
    fputc(':', out);
    put_value(out, ZSH, value);
}

static void zsh_page(void *to, const cli_page *page)
{
    FILE *out = to;
    fprintf(out, "    '%s')\n        _arguments", page->command);
    for (size_t i = 0; i < n_options(page); i++) {
        const cli_option *o = option_at(page, i);
        fprintf(out, " \\\n            '%s[", o->name);
        put_quoted(out, o->help, "[]:\\", "'\\''");
        fputc(']', out);
        if (o->value != NULL)
            zsh_value(out, kind_of(o->value) == WORDS ? o->name + 2 : o->value, o->value);
        fputc('\'', out);
    }
    if (page->usage->operand != NULL) {
        bool many = strstr(page->usage->operand, "...") != NULL;
        fprintf(out, " \\\n            '%s", many ? "*" : "1");
        zsh_value(out, "argument", page->usage->operand);
        fputc('\'', out);
    }
    fputs("\n        ;;\n", out);
}

static void zsh_end(FILE *out)
{
    fputs("    esac\n}\n_priorboost \"$@\"\n", out);
}

/* ---- fish ------------------------------------------------------------------------------------ */

static void fish_begin(FILE *out)
{
    size_t n;
    const cli_command *commands = cli_commands(&n);
    fputs("# fish completion of priorboost; made by 'priorboost help --completion fish'\n"
          "complete -c priorboost -f\n",
          out);
    for (size_t i = 0; i < n; i++) {
        fprintf(out, "complete -c priorboost -n __fish_use_subcommand -a %s -d '",
                commands[i].name);
        put_quoted(out, commands[i].summary, "\\", "\\'");
        fputs("'\n", out);
    }
    commands = cli_oracle_commands(&n);
    for (size_t i = 0; i < n; i++) {
        fputs("complete -c priorboost -n '__fish_seen_subcommand_from oracle; and not "
              "__fish_seen_subcommand_from ",
              out);
        put_names(out, true);
        fprintf(out, "' -a %s -d '", second_word(commands[i].name));
        put_quoted(out, commands[i].summary, "\\", "\\'");
        fputs("'\n", out);
    }
}

static void fish_condition(FILE *out, const char *command)
{
    const char *second = second_word(command);
    if (second != NULL)
        fprintf(out,
                "complete -c priorboost -n '__fish_seen_subcommand_from oracle; and "
                "__fish_seen_subcommand_from %s'",
                second);
    else
        fprintf(out, "complete -c priorboost -n '__fish_seen_subcommand_from %s'", command);
}

static const offer FISH[] = {[NOTHING] = {"", ""},
                             [FILES] = {" -F", ""},
                             [FOLDERS] = {" -a '(__fish_complete_directories)'", ""},
                             [WORDS] = {" -a '", "'"}};

static void fish_page(void *to, const cli_page *page)
{
    FILE *out = to;
    for (size_t i = 0; i < n_options(page); i++) {
        const cli_option *o = option_at(page, i);
        fish_condition(out, page->command);
        fprintf(out, " -l %s", o->name + 2);
        if (o->value != NULL && o->value[0] != '[')
            fputs(" -r", out);
        put_value(out, FISH, o->value);
        fputs(" -d '", out);
        put_quoted(out, o->help, "\\", "\\'");
        fputs("'\n", out);
    }
    if (kind_of(page->usage->operand) != NOTHING) {
        fish_condition(out, page->command);
        put_value(out, FISH, page->usage->operand);
        fputc('\n', out);
    }
}

static void fish_end(FILE *out)
{
    (void)out;
}

/* ------------------------------------------------------------------------------------------------
 */

const cli_completion *cli_completions(size_t *n)
{
    static const cli_completion COMPLETIONS[] = {
        {"bash", "bash/priorboost", bash_begin, bash_page, bash_end},
        {"zsh", "zsh/_priorboost", zsh_begin, zsh_page, zsh_end},
        {"fish", "fish/priorboost.fish", fish_begin, fish_page, fish_end},
    };
    *n = sizeof COMPLETIONS / sizeof *COMPLETIONS;
    return COMPLETIONS;
}
