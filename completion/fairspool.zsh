#compdef @COMMANDS@
# Completion for zsh of fairspool's commands: each says what may stand at the cursor, or nothing where that is a file.

_fairspool() {
  local -a answers
  local answer
  for answer in "${(@f)$(${(Q)words[1]} "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" --generate-bash-completion 2>/dev/null)}"; do
    [[ -n $answer ]] && answers+=("${${answer%%$'\t'*}//:/\\:}:${answer#*$'\t'}")
  done
  if (( $#answers )); then
    if [[ ${#answers} -eq 1 && ${answers[1]%%:*} == *= ]]; then
      _describe -V 'word' answers -S ''
    else
      _describe -V 'word' answers
    fi
  else
    _files
  fi
}

_fairspool "$@"
