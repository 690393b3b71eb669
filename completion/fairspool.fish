# Completion for fish of fairspool's commands: each says what may stand at the cursor, or nothing where that is a file.

function __fairspool_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l answers ($words[1] $words[2..-1] "$current" --generate-bash-completion 2>/dev/null)
    if test (count $answers) -gt 0
        printf '%s\n' $answers
    else
        __fish_complete_path "$current"
    end
end

complete -c @COMMAND@ -f -a '(__fairspool_complete)'
