# bash completion for vyre: subcommands, their options, values of a program, diagnostic codes, and files. A test compares
# the lists with `vyre help` and completes some lines.

# Prints NAME= for the values that the program of the first file on the line needs.
_vyre_values() {
    local i
    for ((i = 2; i < COMP_CWORD; i++)); do
        if [[ ${COMP_WORDS[i]} != -* && -f ${COMP_WORDS[i]} ]]; then
            "${COMP_WORDS[0]}" explain --names "${COMP_WORDS[i]}" 2>/dev/null
            return
        fi
    done
}

_vyre() {
    local word=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]:-} options=
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        mapfile -t COMPREPLY < <(compgen -W "run check fmt explain backends info cache doctor dialects ops inline opt emit encode decode bind math gen shrink version help" -- "$word")
        return
    fi
    case $command in
    run) options="--program --define --out --shape --grid --elements --count --check --seed --threads --budget --memory --backend --timeout --repeat --time --json --hex --limit --quiet --verbose" ;;
    check) options="--define --json --quiet" ;;
    fmt) options="--write --check" ;;
    explain) options="--all --markdown --program --define --target --arch --names --json" ;;
    backends) options="--backend --software --json" ;;
    info) options="--json" ;;
    cache) options="--folder --backend --invalid --json" ;;
    doctor) options="--timeout --json" ;;
    dialects) options="--folder --events --json" ;;
    ops) options="--markdown --json" ;;
    inline | decode | bind) options="--output --program --define" ;;
    emit) options="--target --backend --cpu --arch --width --exact --subgroup --access --cancellable --uncoarsened --indirect --stage --list --output --program --define" ;;
    opt) options="--level --pass --target --both --each --report --list --json --output --program --define" ;;
    encode) options="--output --program --define --debug" ;;
    math) options="--backend --range --blocks --compare --without-f64 --with-tables --json" ;;
    gen) options="--seed --count --statements --depth --invocations --stress --types --output --json" ;;
    shrink) options="--output --program --define --count --grid --elements --tries --timeout --timeout-fails --verbose" ;;
    help)
        mapfile -t COMPREPLY < <(compgen -W "run check fmt explain backends info cache doctor dialects ops inline opt emit encode decode bind math gen shrink version help" -- "$word")
        return
        ;;
    esac
    case ${COMP_WORDS[COMP_CWORD - 1]} in
    --check) [ "$command" = run ] && mapfile -t COMPREPLY < <(compgen -W "races bounds unwritten divergence all" -- "$word") && return ;;
    --color) mapfile -t COMPREPLY < <(compgen -W "auto always never" -- "$word") && return ;;
    --target | -t)
        if [ "$command" = explain ]; then
            mapfile -t COMPREPLY < <(compgen -W "ptx" -- "$word")
        elif [ "$command" = opt ]; then
            mapfile -t COMPREPLY < <(compgen -W "cpu ptx c opencl" -- "$word")
        else
            mapfile -t COMPREPLY < <(compgen -W "llvm-ir asm ptx cubin sass c opencl legal" -- "$word")
        fi
        return
        ;;
    --backend) mapfile -t COMPREPLY < <(compgen -W "cuda opencl cpu reference" -- "$word") && return ;;
    --stress) mapfile -t COMPREPLY < <(compgen -W "integers floats control functions memory collectives atomics geometry" -- "$word") && return ;;
    esac
    if [[ $word == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$options --color --help" -- "$word")
    elif [ "$command" = info ]; then
        mapfile -t COMPREPLY < <(compgen -W "cuda opencl cpu reference" -- "$word")
    elif [ "$command" = cache ]; then
        mapfile -t COMPREPLY < <(compgen -W "list size verify clear" -- "$word")
    elif [ "$command" = dialects ] && [ "$COMP_CWORD" -eq 2 ]; then
        mapfile -t COMPREPLY < <(compgen -W "list show check watch" -- "$word")
    elif [ "$command" = explain ] && [[ $word != */* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$("${COMP_WORDS[0]}" explain --names 2>/dev/null)" -- "${word^^}"; compgen -f -- "$word")
    elif [[ $command == run || $command == shrink ]] && [[ ${COMP_WORDS[COMP_CWORD - 1]} != "=" && $word != "=" ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_vyre_values)" -- "$word")
        if [ ${#COMPREPLY[@]} -gt 0 ]; then
            compopt -o nospace +o filenames 2>/dev/null # the value follows its name at once, and = is not quoted
        else
            mapfile -t COMPREPLY < <(compgen -f -- "${word#@}")
        fi
    else
        mapfile -t COMPREPLY < <(compgen -f -- "${word#[@=]}")
    fi
}
complete -o filenames -F _vyre vyre
