#!/bin/sh
# Checks the prose of the manual pages and of the docs, by diction(1) and style(1).
#
#   prose.sh           check each file against its line of lint/limits
#   prose.sh -update   lower the limits to what the files have now; no limit is raised or added
#   prose.sh -figures  print figures of each file, and of all together
#   prose.sh -text FILE, -phrases FILE, -long FILE
#                      print the sentences of a file, those with a phrase of lint/phrases, or the long ones
#
# A line of lint/limits is a file, how many phrases of lint/phrases it has, and how many sentences of more than 40 words.
# A file without a line has none of either. A file that has less than its line says fails, too, until -update lowers the line.
set -eu
export LC_ALL=C
cd "$(dirname "$0")/.."
longest=40

for program in mandoc col diction style; do
  command -v $program >/dev/null || {
    echo "lint: $program is not installed: apt-get install mandoc bsdextrautils diction" >&2
    exit 1
  }
done

# Prints the sentences of a file, one paragraph a line: no headings, no examples, no tables.
text() {
  case $1 in
  *.md) markdown <"$1" ;;
  *) mdoc <"$1" | mandoc -T ascii -O width=1000 | col -bx | sed '1d;$d' ;;
  esac | awk '
    # mandoc fills lines to 1000 characters at most: a long one goes on in the next.
    { line = line $0; if (length($0) > 900) { line = line " "; next } $0 = line; line = "" }
    { gsub(/[[:space:]]+/, " "); sub(/^ (o|-|\*) /, ""); sub(/ +$/, "") }
    NF < 4 { next }
    $0 !~ /[.:!?][)"]?$/ { $0 = $0 "." }
    { print; print "" }'
}

# Removes from a manual page what is not sentences.
mdoc() {
  awk '
    /^\.Sh (SYNOPSIS|SEE ALSO)/ { skip = 1; next }
    /^\.Sh / { skip = 0 }
    skip { next }
    /^\.Bd / { block = 1 }
    /^\.Bl .*-column/ { table = 1 }
    !block && !table && !/^\.D[l1] / { print }
    /^\.Ed/ { block = 0 }
    /^\.El/ { table = 0 }'
}

# Removes from Markdown what is not sentences, and joins the lines of a paragraph.
markdown() {
  awk '
    function flush() { if (line != "") print line; line = "" }
    /^ *```/ { fence = !fence; flush(); next }
    fence || /^\|/ || /^#/ || /^<!--/ || /^ *$/ || /^    / { flush(); next }
    /^ *([-*]|[0-9]+\.) / { flush(); sub(/^ *([-*]|[0-9]+\.) /, "") }
    { line = line " " $0 }
    END { flush() }' | sed 's/\](\([^)]*\))//g; s/[][`]//g; s/\*\*//g'
}

phrases() { text "$1" | diction -d -q -s -n -f lint/phrases; }
long() { text "$1" | style -l $longest | awk '/^readability grades:/ { exit } NF { print }'; }
files() { ls README.md CHANGELOG.md docs/*.md man/*.[1-9]; }

# Prints a file, its number of phrases, and its number of long sentences, for each file.
count() {
  for f in $(files); do
    p=$(phrases "$f" | awk '/^[0-9]+ phrases? in/ { n = $1 } END { print n + 0 }')
    echo "$f $p $(long "$f" | wc -l)"
  done
}

figures() {
  all=$(mktemp)
  trap 'rm -f "$all"' EXIT
  printf '%-28s %6s %9s %8s %7s %4s %4s %5s %7s %7s %6s\n' file words sentences words/s. Kincaid Fog Lix long passive longest phrases
  for f in $(files); do
    text "$f" >>"$all"
    text "$f" | row "$f"
  done
  row together <"$all"
}

# Prints a row of figures about the text on standard input.
row() {
  t=$(mktemp)
  cat >"$t"
  p=$(diction -d -q -s -n -f lint/phrases <"$t" | awk '/^[0-9]+ phrases? in/ { n = $1 } END { print n + 0 }')
  l=$(style -l $longest <"$t" | awk '/^readability grades:/ { exit } NF { n++ } END { print n + 0 }')
  style <"$t" | awk -v f="$1" -v p="$p" -v l="$l" '
    /Kincaid:/ { k = $2 } /Fog Index:/ { fog = $3 } /Lix:/ { lix = $2 }
    / words, average/ { w = $1 } / sentences, average/ { s = $1; a = $5 }
    /passive sentences/ { pass = $1 } /longest sent/ { m = $3 }
    END { printf "%-28s %6d %9d %8s %7s %4s %4s %5d %7s %7d %6d\n", f, w, s, a, k, fog, lix, l, pass, m, p }'
  rm -f "$t"
}

case ${1:-} in
-text) text "$2" ;;
-phrases) phrases "$2" ;;
-long) long "$2" ;;
-figures) figures ;;
-update)
  count | awk '
    NR == FNR { p[$1] = $2; l[$1] = $3; next }
    $1 in p { if (p[$1] < $2) $2 = p[$1]; if (l[$1] < $3) $3 = l[$1]; if ($2 + $3 > 0) print }' - lint/limits >lint/limits.new
  mv lint/limits.new lint/limits
  ;;
'')
  count | awk '
    FILENAME == "lint/limits" { p[$1] = $2; l[$1] = $3; next }
    { seen[$1] = 1 }
    function fault(s) { print "lint: " $1 ": " s; bad = 1 }
    $2 > p[$1] + 0 { fault($2 " phrases of lint/phrases, at most " p[$1] + 0 ": sh lint/prose.sh -phrases " $1) }
    $3 > l[$1] + 0 { fault($3 " sentences of more than 40 words, at most " l[$1] + 0 ": sh lint/prose.sh -long " $1) }
    $2 < p[$1] + 0 || $3 < l[$1] + 0 { fault("better than its line in lint/limits: sh lint/prose.sh -update") }
    END {
      for (f in p) if (!(f in seen)) { $1 = f; fault("is in lint/limits and does not exist: sh lint/prose.sh -update") }
      exit bad
    }' lint/limits - >&2
  ;;
*)
  echo "prose.sh: unknown option $1" >&2
  exit 2
  ;;
esac
