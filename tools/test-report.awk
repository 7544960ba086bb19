# Reads the output of `ctest -V`. With -v totals=1 prints "passed failed skipped"; else the failures, with all they printed.
#
# Lines of test N start with "N: ". cmocka ends a group with "[  PASSED  ] k test(s)." and, if there are any,
# "[  FAILED  ] group: k test(s), listed below:" and "[  SKIPPED ] group: k test(s), listed below:".

function number_before() { match($0, /[0-9]+ test\(s\)/); return substr($0, RSTART, RLENGTH) + 0 }

/^[0-9]+: / {
    id = $1
    sub(/:$/, "", id)
    text[id] = text[id] substr($0, length(id) + 3) "\n"
    if ($0 ~ /: SKIP/) skip_lines[id]++
    if ($0 !~ /test\(s\)/) next
    if ($0 ~ /\[  PASSED  \]/) { grouped[id] = 1; passed[id] += number_before() }
    else if ($0 ~ /\[  FAILED  \]/) failed[id] += number_before()
    else if ($0 ~ /\[  SKIPPED \]/) skipped[id] += number_before()
    next
}

# "3/9 Test #3: base.number ......   Passed    0.10 sec"
/^ *[0-9]+\/[0-9]+ Test +#[0-9]+: / {
    match($0, /#[0-9]+/)
    id = substr($0, RSTART + 1, RLENGTH - 1)
    match($0, /: [^ ]+/)
    name = substr($0, RSTART + 2, RLENGTH - 2)
    good = $0 ~ / Passed /
    if (!good && failed[id] + 0 == 0) failed[id] = 1
    if (good && !grouped[id]) passed[id] = 1
    # A test that says SKIP and returns did not pass; one that calls skip() was counted by cmocka already.
    if (skip_lines[id] > skipped[id]) {
        moved = skip_lines[id] - skipped[id]
        if (moved > passed[id]) moved = passed[id] + 0
        passed[id] -= moved
        skipped[id] = skip_lines[id]
    }
    total_passed += passed[id]
    total_failed += failed[id]
    total_skipped += skipped[id]
    if (!totals && !good) printf "---- %s failed\n%s", $0, text[id]
}

END { if (totals) print total_passed + 0, total_failed + 0, total_skipped + 0 }
