// What a shell has to be told so that Tab works: it asks `reprise complete -- <words>` and shows the lines that come
// back, each a value, a tab and a note. The one line `:files` means that a file belongs there.

export type Shell = 'bash' | 'zsh' | 'fish'

export const scripts: { readonly [shell in Shell]: string } = {
  // words are cut at spaces alone: bash's own cut at : and = would tear ids and --option=value apart. What bash has cut
  // off is taken off the answers again.
  bash: `# Completion of reprise for bash. In ~/.bashrc: source <(reprise completion bash)
_reprise() {
  local line=\${COMP_LINE:0:COMP_POINT} word reply breaks cut value
  local -a words
  read -ra words <<< "$line"
  [[ $line == *[[:space:]] ]] && words+=('')
  word=\${words[\${#words[@]}-1]}
  reply=$("\${words[0]}" complete -- "\${words[@]:1}" 2>/dev/null)
  COMPREPLY=()
  if [[ $reply == :files ]]; then
    compopt -o default 2>/dev/null
    return
  fi
  breaks=\${COMP_WORDBREAKS//[^:=]/}
  [[ -n $breaks ]] && cut=\${word%"\${word##*[$breaks]}"}
  while IFS=$'\\t' read -r value _; do
    [[ -n $value ]] && COMPREPLY+=("$(printf '%q' "\${value#"$cut"}")")
  done <<< "$reply"
}
complete -F _reprise reprise
`,
  zsh: `#compdef reprise
# Completion of reprise for zsh. In ~/.zshrc, after compinit: source <(reprise completion zsh)
_reprise() {
  local -a lines values
  local line
  lines=("\${(@f)$("\${words[1]}" complete -- "\${(@)words[2,CURRENT-1]}" "$PREFIX" 2>/dev/null)}")
  if [[ $lines[1] == ':files' ]]; then
    _files
    return
  fi
  for line in $lines; do
    values+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
  done
  (( $#values )) && _describe 'reprise' values
}
compdef _reprise reprise
`,
  fish: `# Completion of reprise for fish. In ~/.config/fish/config.fish: reprise completion fish | source
function __reprise_complete
    set -l words (commandline -opc)
    set -l word (commandline -ct)
    set -l lines ($words[1] complete -- $words[2..] "$word" 2>/dev/null)
    if test "$lines" = ':files'
        __fish_complete_path "$word"
    else
        printf '%s\\n' $lines
    end
end
complete -c reprise -f -a '(__reprise_complete)'
`,
}
