#!/bin/sh
# Checks the subjects of the commits since a base: "package: do what", in the imperative, at most 72 characters, such as
# "pool, spool: keep names of slots". Where git or the base is missing, as in a tarball or a shallow clone, it checks what
# it has.
set -eu
export LC_ALL=C
cd "$(dirname "$0")/.."
base=9e23466a621300456ea474576dbcf1a27c70cb40
since=2026-11-29T15:30:28Z # a second after the base was committed

if ! git rev-parse -q --verify HEAD >/dev/null 2>&1; then
  echo "lint: no git repository: the subjects of commits are not checked" >&2
  exit 0
fi
if git merge-base --is-ancestor $base HEAD 2>/dev/null; then
  set -- $base..HEAD
else
  set -- --since=$since HEAD
fi
git log --no-merges --format='%h %s' "$@" | awk '
  function fault(s) { print "lint: commit " $1 ": " s ": " subject; bad = 1 }
  { subject = substr($0, length($1) + 2) }
  subject ~ /^Merge / { next } # a merge whose parents a shallow clone lacks
  length(subject) > 72 { fault(length(subject) " characters, at most 72") }
  subject !~ /^[A-Za-z0-9.][A-Za-z0-9._\/()-]*(, [A-Za-z0-9][A-Za-z0-9._\/()-]*)*: [a-z]/ { fault("want \"package: do what\"") }
  subject ~ /: [a-z]+(ed|ing) / && subject !~ /: (embed|feed|need|seed|shed|speed|bring|string) / { fault("want the imperative") }
  subject ~ /\.$/ { fault("ends with a full stop") }
  END { exit bad }' >&2
