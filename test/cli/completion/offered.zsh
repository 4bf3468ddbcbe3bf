# What zsh offers: offered.zsh FOLDER LINE... types each line and TAB into an interactive shell that finds _tessera in the folder, and
# prints a line of words for it.
zmodload zsh/zpty || exit 1
zpty shell zsh -f -i || exit 1
enter() { zpty -w shell $1 }
enter "fpath=(${(q)1} \$fpath); autoload -Uz compinit; compinit -u -D; LISTMAX=10000"
# Words that are offered are written down; -O, -A and -D only ask which fit.
enter 'compadd() {
  if [[ $@[1,(i)(-|--)] == *-(O|A|D)\ * ]]; then builtin compadd "$@"; return; fi
  local -a fitting
  builtin compadd -A fitting "$@"
  (( $#fitting )) && print -rn -- "<OFFERED ${(j: :)fitting}>"
  builtin compadd "$@"
}'
enter 'done-with-line() { print -n "<DO""NE>"; zle kill-buffer; zle -I }; zle -N done-with-line'
enter 'bindkey "^I" complete-word; bindkey "^X" done-with-line; print REA""DY'
zpty -r shell output '*READY*' || exit 1
for line in $@[2,-1]; do
  zpty -w -n shell $line$'\t\x18'
  zpty -r shell output '*<DONE>*' || exit 1
  offered=()
  while [[ $output == *'<OFFERED '* ]]; do
    output=${output#*'<OFFERED '}
    offered+=(${output%%>*})
  done
  print -r -- $offered
done
zpty -d shell
