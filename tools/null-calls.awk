# Generator of the calls of tests/driver/test_null.c: every public function, with each argument replaceable.
#
#   cc -E -I include include/vyre/vyre.h | awk -f tools/null-calls.awk tests/driver/null_values.def -
#
# Reads the preprocessed public headers: exported functions, inline functions, and the functions in vyre_host. Writes for
# each a C function that calls it, and a row of the array `calls`. null_values.def has the arguments of valid calls. An
# argument without one stops the build, so that no new function is left out.
function die(text) {
    print "null-calls.awk: " text > "/dev/stderr"
    failed = 1
    exit 1
}

# ---- null_values.def ----

NR == FNR {
    if ($0 ~ /^#/ || $0 ~ /^ *$/) next
    split($0, field, /  +/)
    if (field[1] == "value") value[field[2]] = field[3]
    else if (field[1] == "gives") gives[field[2]] = field[3]
    else if (field[1] == "none") none[field[2]] = field[3]
    else if (field[1] ~ /^(optional|default|required)$/) {
        keys = split(field[2], key, " ")
        for (i = 1; i <= keys; i++) allowed[key[i]] = field[1]
    } else die("null_values.def:" FNR ": `" field[1] "` is no keyword of this file")
    next
}

# ---- the preprocessed headers: what comes from include/vyre ----

/^# [0-9]/ {
    is_ours = $3 ~ /vyre\/[a-z]+\.h"$/
    next
}
!/^#/ && is_ours { text = text $0 "\n" }

END {
    if (failed) exit 1
    split("empty long bytes", text_names_from_1, " ")
    for (i = 0; i < 3; i++) text_names[i] = text_names_from_1[i + 1]
    scan_headers()
    for (f = 1; f <= functions; f++) write_function(f)
    write_changes()
    print bodies
    print "static const null_call calls[] = {\n" rows "};"
}

# ---- declarations ----

function trim(text) {
    gsub(/[ \t\n]+/, " ", text)
    sub(/^ /, "", text)
    sub(/ $/, "", text)
    return text
}
# Splits at `separator` outside of parentheses and brackets.
function split_outside(text, parts, separator,    i, c, depth, n) {
    n = 1
    parts[1] = ""
    for (i = 1; i <= length(text); i++) {
        c = substr(text, i, 1)
        if (c ~ /[([]/) depth++
        if (c ~ /[])]/) depth--
        if (c == separator && depth == 0) parts[++n] = ""
        else parts[n] = parts[n] c
    }
    return n
}
# The name that `const T *name`, `T name[3]` or `T (*name)(…)` declares.
function name_of(declaration) {
    if (declaration ~ /\(\*[a-z_0-9]+\)/) {
        sub(/^.*\(\*/, "", declaration)
        sub(/\).*$/, "", declaration)
        return declaration
    }
    sub(/\[[^]]*\]$/, "", declaration)
    sub(/^.*[^a-z_0-9]/, "", declaration)
    return declaration
}
# `const T*`: the declaration without the name, and without a space before `*`.
function type_of(declaration) {
    sub(/[a-z_0-9]+$/, "", declaration)
    declaration = trim(declaration)
    gsub(/ \*/, "*", declaration)
    return declaration
}
# The type a pointer points to, without const.
function pointed(type) {
    sub(/^const /, "", type)
    sub(/\*$/, "", type)
    return type
}

function scan_headers(    i, c, depth, piece, head, body) {
    for (i = 1; i <= length(text); i++) {
        c = substr(text, i, 1)
        if (c == "}" && --depth == 0) {
            if (head ~ /^static inline /) {
                add_declaration(head)
                piece = ""
            } else if (head ~ /^typedef struct /) {
                sub(/^typedef struct /, "", head)
                add_struct(head, body)
            }
            continue
        }
        if (depth > 0) body = body c
        if (c == "{") {
            if (depth++ == 0) {
                head = trim(piece)
                piece = body = ""
            }
        } else if (depth == 0 && c == ";") {
            piece = trim(piece)
            if (piece ~ /^typedef struct vyre_[a-z_]+ vyre_[a-z_]+$/) opaque[name_of(piece)] = 1
            if (piece ~ /^__attribute__\(\(visibility\("default"\)\)\) .*\)$/) add_declaration(piece)
            piece = ""
        } else if (depth == 0) piece = piece c
    }
}
function add_function(result, name, parameters, callee) {
    functions++
    function_name[functions] = name
    function_callee[functions] = callee
    function_result[functions] = result
    function_parameters[functions] = trim(parameters)
}
# `result name(parameters)`
function add_declaration(declaration,    at, head, name) {
    sub(/^__attribute__\(\(visibility\("default"\)\)\) /, "", declaration)
    sub(/^static inline /, "", declaration)
    at = index(declaration, "(")
    head = substr(declaration, 1, at - 1)
    name = name_of(head)
    add_function(type_of(head), name, substr(declaration, at + 1, length(declaration) - at - 1), name)
}
# An entry of vyre_host: `result (*name)(parameters)`. Its name is in parentheses in the call: cmocka has a macro `fail`.
function add_host_entry(entry,    name, at, result) {
    name = name_of(entry)
    at = index(entry, ")(")
    result = trim(substr(entry, 1, index(entry, "(") - 1))
    gsub(/ \*/, "*", result)
    add_function(result, "vyre_host." name, substr(entry, at + 2, length(entry) - at - 2), "(vy_host_services." name ")")
}
# Keeps the names of members that are pointers, of those that are texts, and `type:name` of those that are structs.
function add_struct(name, body,    members, member, names, part, type, i, j) {
    structs[name] = 1
    delete opaque[name]
    if (body ~ /[{#]/) return
    members = split_outside(body, member, ";")
    for (i = 1; i <= members; i++) {
        member[i] = trim(member[i])
        if (member[i] ~ /\(\*/) {
            pointers[name] = pointers[name] " " name_of(member[i])
            if (name == "vyre_host") add_host_entry(member[i])
            continue
        }
        names = split_outside(member[i], part, ",")
        type = type_of(part[1])
        for (j = 1; j <= names; j++) {
            if (part[j] ~ /\*/) pointers[name] = pointers[name] " " name_of(trim(part[j]))
            if (part[j] ~ /\*/ && type == "const char*") is_text[name "." name_of(trim(part[j]))] = 1
            else if (part[j] !~ /\[/) inner[name] = inner[name] " " type ":" name_of(trim(part[j]))
            if (name_of(trim(part[j])) == "struct_size") has_size[name] = 1
        }
    }
}

# ---- the C code ----

# All pointer members of a struct, and those of structs inside it with their path.
function pointer_members(type, prefix,    words, word, i, out, pair) {
    words = split(pointers[type], word, " ")
    for (i = 1; i <= words; i++) out = out " " prefix word[i]
    words = split(inner[type], word, " ")
    for (i = 1; i <= words; i++) {
        split(word[i], pair, ":")
        if (pair[1] in structs) out = out " " pointer_members(pair[1], prefix pair[2] ".")
    }
    return out
}
# For each struct that is an argument: a function that zeroes it or a member, or gives a member another text.
function write_changes(    type, words, word, names, cases, i, j, n) {
    for (type in is_argument) {
        words = split(pointer_members(type, ""), word, " ")
        names = "\"all of it\""
        cases = "    case 0: memset(it, 0, sizeof *it); break;\n"
        n = 1
        if (has_size[type]) {
            names = names ", \"struct_size\""
            cases = cases "    case " n++ ": it->struct_size = 0; break;\n"
        }
        for (i = 1; i <= words; i++) {
            names = names ", \"" word[i] "\""
            cases = cases "    case " n++ ": it->" word[i] " = NULL; break;\n"
            for (j = 0; j < 3 && (type "." word[i]) in is_text; j++) {
                names = names ", \"" word[i] " " text_names[j] "\""
                cases = cases "    case " n++ ": it->" word[i] " = odd_texts[" j "]; break;\n"
            }
        }
        print "static const char *const members_of_" type "[] = {" names ", NULL};"
        print "static const void *change_" type "(void *given, unsigned member) {\n    " type " *it = given;"
        print "    switch (member) {\n" cases "    }\n    return given;\n}"
    }
}
function value_of(name, argument, type) {
    if ((name "." argument) in value) return value[name "." argument]
    if ((type " " argument) in value) return value[type " " argument]
    return value[type]
}
# 1: storage of the generated function is a valid argument.
function is_slot(declaration, type) {
    if (declaration ~ /^const [a-z_0-9]* \*[a-z_0-9]*$/ || type ~ /const\*$/) return 0
    return declaration ~ /\]$/ || (type ~ /\*$/ && !(pointed(type) in opaque))
}
function kind_of(result) {
    if (result == "vyre_status") return "s"
    if (result == "void") return "v"
    if (result in structs) return "t"
    return result ~ /\*$/ ? "p" : "i"
}
function write_function(f,    name, id, parameters, part, i, argument, type, v, slot, call, before, after, word, mask,
                        names, changes, kind) {
    name = id = function_name[f]
    gsub(/\./, "_", id)
    if (function_parameters[f] == "void") function_parameters[f] = ""
    parameters = split_outside(function_parameters[f], part, ",")
    if (function_parameters[f] == "") parameters = 0
    mask["pointer"] = mask["integer"] = mask["count"] = mask["optional"] = mask["default"] = 0
    for (i = 1; i <= parameters; i++) {
        part[i] = trim(part[i])
        argument = name_of(part[i])
        type = type_of(part[i])
        slot = "slot" i
        v = value_of(name, argument, type)
        if (v == "" && is_slot(part[i], type)) {
            v = part[i]
            if (v ~ /\]$/) sub(argument "\\[", slot "[", v)
            before = before "    static " (v ~ /\]$/ ? v : pointed(type) " " slot) ";\n"
            before = before "    memset(&" slot ", 0xa5, sizeof " slot ");\n"
            if (argument == "out") after = after "    see_out(c, &" slot ", sizeof " slot ", " i - 1 ");\n"
            v = v ~ /\]$/ ? slot : "&" slot
        }
        if (v == "") die("no value for `" argument "` (" type ") of " name ". Fix: add a line to null_values.def")
        names = names "\"" argument "\", "
        if (part[i] !~ /[*[]/) {
            call = call (i > 1 ? ", " : "") (type in structs ? v : "NUMBER(" i - 1 ", " type ", " v ")")
            word = argument ~ /(^|_)(count|size|length|ndim)$/ ? "count" : "integer"
            if (!(type in structs)) mask[word] += 2 ^ (i - 1)
            continue
        }
        call = call (i > 1 ? ", " : "") "AT(" i - 1 ", " v ")"
        # Another text would not have the length that follows.
        if (type == "const char*" && part[i + 1] !~ /(size|length)$/) changes = changes "{" i - 1 ", change_text, text_names}, "
        word = (name "." argument) in allowed ? allowed[name "." argument] : allowed["*." argument]
        mask["pointer"] += 2 ^ (i - 1)
        mask[word] += 2 ^ (i - 1)
        if (pointed(type) in structs && argument != "error") {
            is_argument[pointed(type)] = 1
            changes = changes "{" i - 1 ", change_" pointed(type) ", members_of_" pointed(type) "}, "
        }
    }
    kind = kind_of(function_result[f])
    call = function_callee[f] "(" call ");\n"
    if (kind == "t") call = function_result[f] " given = " call "    c->result = has_bits(&given, sizeof(void *));\n"
    else if (kind != "v") call = "c->result = (uint64_t)(uintptr_t)" call
    bodies = bodies "static void call_" id "(null_case *c) {\n" before "    " call after "}\n"
    bodies = bodies "static const change changes_" id "[] = {" changes "{0, NULL, NULL}};\n"
    rows = rows "    {\"" name "\", call_" id ", '" kind "', " mask["pointer"] ", " mask["optional"]
    rows = rows ", " mask["default"] ", " mask["integer"] ", " mask["count"]
    rows = rows ", {" names "}, changes_" id ", " (name in gives ? gives[name] : "VYRE_OK")
    rows = rows ", " (name in none ? none[name] : "0") "},\n"
}
