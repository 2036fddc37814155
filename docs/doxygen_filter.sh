#!/bin/sh
# The headers' plain comments as Doxygen wants them: before a declaration /** ... */, behind one
# /**< ... */, at the head of a file /** @file ... */.  Lines that only separate sections are dropped.
case $1 in
*.md) exec cat "$1" ;;
esac
exec sed -E \
    -e '1s,^/\* [^ ]+ — ,/** @file\n * ,' \
    -e 's,^/\* -{3\,} .* -{3\,} \*/$,,' \
    -e 's,^(\s*)/\* ,\1/** ,' \
    -e 's,^(.*[^[:space:]].*)/\* ,\1/**< ,' "$1"
