#!/bin/sh
# The headers' plain comments as Doxygen wants them: before a declaration /** ... */, behind one
# /**< ... */.  Lines that only separate sections are dropped.
case $1 in
*.md) exec cat "$1" ;;
esac
exec sed -E \
    -e 's,^/\* -{3\,} .* -{3\,} \*/$,,' \
    -e 's,^(\s*)/\* ,\1/** ,' \
    -e 's,^(.*[^[:space:]].*)/\* ,\1/**< ,' "$1"
