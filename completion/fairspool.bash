# Completion for bash of fairspool's commands: each says what may stand at the cursor, or nothing where that is a file.

_fairspool() {
  local -a words
  local value current kept char i
  # By blanks, so that @ and = are parts of words.
  read -ra words <<<"${COMP_LINE:0:COMP_POINT}"
  case ${COMP_LINE:0:COMP_POINT} in
    *[[:blank:]]) words+=('') ;;
  esac
  current=${words[${#words[@]} - 1]}
  # Readline replaces what stands behind the last character that breaks words, and with an @ that as well.
  kept=
  for ((i = ${#current} - 1; i >= 0; i--)); do
    char=${current:i:1}
    if [[ $char == [=:@] && $COMP_WORDBREAKS == *$char* ]]; then
      kept=${current:0:i}
      [[ $char == @ ]] || kept+=$char
      break
    fi
  done
  COMPREPLY=()
  while IFS=$'\t' read -r value _; do
    COMPREPLY+=("${value#"$kept"}")
  done < <("$1" "${words[@]:1}" --generate-bash-completion 2>/dev/null)
  if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]]; then
    compopt -o nospace
  fi
}

complete -o bashdefault -o default -F _fairspool @COMMANDS@
