# What fish offers: offered.fish SCRIPT LINE... prints a line of words for each command line.
source $argv[1]; or exit 1
for line in $argv[2..-1]
    echo (complete -C $line | cut -f1 | string join ' ')
end
