# What bash offers: offered.bash SCRIPT LINE... prints a line of words for each command line. bash itself splits a line into words
# at spaces and before and after "=", as here.
source "$1" || exit 1
shift
complete -p tessera tessera-node > /dev/null || exit 1
for line in "$@"; do
  read -ra COMP_WORDS <<< "${line//=/ = }"
  # A space at the end begins a word.
  case $line in *' ') COMP_WORDS+=('') ;; esac
  COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
  _tessera
  echo "${COMPREPLY[*]}"
done
