# bash completion for vyre: subcommands, their options, and files. A test compares the lists with `vyre help`.
_vyre() {
    local word=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]:-} options=
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        mapfile -t COMPREPLY < <(compgen -W "run check fmt explain backends cache doctor dialects ops inline opt emit encode decode bind gen shrink version help" -- "$word")
        return
    fi
    case $command in
    run) options="--program --define --out --shape --grid --elements --count --check --seed --threads --budget --memory --backend --timeout --repeat --time --json --hex --limit --quiet" ;;
    check) options="--define --json --quiet" ;;
    fmt) options="--write --check" ;;
    explain) options="--all --markdown --program --define --target --arch --json" ;;
    backends) options="--backend --software --json" ;;
    cache) options="--folder --backend --invalid --json" ;;
    doctor) options="--timeout --json" ;;
    dialects) options="--folder --events --json" ;;
    ops) options="--markdown --json" ;;
    inline | decode | bind) options="--output --program --define" ;;
    emit) options="--target --cpu --arch --width --exact --subgroup --access --cancellable --unwidened --indirect --stage --list --output --program --define" ;;
    opt) options="--level --pass --both --each --report --list --json --output --program --define" ;;
    encode) options="--output --program --define --debug" ;;
    gen) options="--seed --count --statements --depth --invocations --stress --types --output --json" ;;
    shrink) options="--output --program --define --count --grid --elements --tries --timeout --timeout-fails --verbose" ;;
    help)
        mapfile -t COMPREPLY < <(compgen -W "run check fmt explain backends cache doctor dialects ops inline opt emit encode decode bind gen shrink version help" -- "$word")
        return
        ;;
    esac
    case ${COMP_WORDS[COMP_CWORD - 1]} in
    --check) [ "$command" = run ] && mapfile -t COMPREPLY < <(compgen -W "races bounds unwritten divergence all" -- "$word") && return ;;
    --backend) mapfile -t COMPREPLY < <(compgen -W "cuda cpu reference" -- "$word") && return ;;
    --stress) mapfile -t COMPREPLY < <(compgen -W "integers floats control functions memory collectives atomics geometry" -- "$word") && return ;;
    esac
    if [[ $word == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$options --help" -- "$word")
    elif [ "$command" = cache ]; then
        mapfile -t COMPREPLY < <(compgen -W "list size verify clear" -- "$word")
    elif [ "$command" = dialects ] && [ "$COMP_CWORD" -eq 2 ]; then
        mapfile -t COMPREPLY < <(compgen -W "list show check watch" -- "$word")
    else
        mapfile -t COMPREPLY < <(compgen -f -- "${word#@}")
    fi
}
complete -o filenames -F _vyre vyre
