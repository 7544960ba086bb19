/* The formatter: canonical spacing, nothing else. */
#include "generate/generate.h"
#include "ir/text/lexer.h"
#include "text/text_support.h"

#include <dirent.h>

static char *format(const char *text) {
    vyre_bytes out = VYRE_BYTES_INIT;
    vyre_error error;
    vyre_status status = vyre_text_format(text, strlen(text), NULL, NULL, &out, &error);
    if (status != VYRE_OK)
        fail_msg("%s", error.message);
    text_append(&out, "", 1);
    char *copy = malloc(out.size);
    memcpy(copy, out.data, out.size);
    vyre_bytes_free(&out);
    return copy;
}

static void check(const char *text, const char *expected) {
    char *given = format(text), *again = format(given);
    if (strcmp(given, expected) != 0)
        fail_msg("--- given ---\n%s--- expected ---\n%s", given, expected);
    assert_string_equal(again, given);
    free(given);
    free(again);
}

static void spaces_become_canonical(void **state) {
    (void)state;
    check("const   N=16u32", "const N = 16u32\n");
    check("fn f( a:u32 ,t:workgroup[ u32 ],b : buffer[f32]read )->( r:u32,ok :bool ){return a,true}",
          "fn f(a: u32, t: workgroup [u32], b: buffer [f32] read) -> (r: u32, ok: bool) { return a, true }\n");
    check("program p{\nparam  a:f32\nbuffer x:f32 read count(a+1)*2\nworkgroup 8,8\narray t:f32[8*8]workgroup\n}",
          "program p {\n  param a : f32\n  buffer x : f32 read count (a + 1) * 2\n  workgroup 8, 8\n  array t : f32 [8 "
          "* 8] workgroup\n}\n");
    check("let a=b+c*d-( -e )\nx  [ i ]+=1\nlet f = g( a , -b )",
          "let a = b + c * d - (-e)\nx[i] += 1\nlet f = g(a, -b)\n");
    check("let a:u32=c?-1:~d", "let a : u32 = c ? -1 : ~d\n");
    check("f(c?a:b)\nlet(a:u32,b:f32)=m.g(x)", "f(c ? a : b)\nlet (a: u32, b: f32) = m.g(x)\n");
    check("atomic_add < relaxed ,device > ( m[ 0 ],1 )\nlet v=a<b\nlet w=bitcast < f32 >(a)>b",
          "atomic_add<relaxed, device>(m[0], 1)\nlet v = a < b\nlet w = bitcast<f32>(a) > b\n");
    check("let a:u32=\"d-e::f\" < by=3 > ( x )+\"d-e::f\"( 1 )\nlet(a:u32,b:u32)=\"d-e::g\" (x)\n\"d-e::h\"(y)",
          "let a : u32 = \"d-e::f\"<by = 3>(x) + \"d-e::f\"(1)\nlet (a: u32, b: u32) = \"d-e::g\"(x)\n\"d-e::h\"(y)\n");
    check("fn  \"d-e::f\" (x:u32){}", "fn \"d-e::f\"(x: u32) {}\n");
    check("for i in 0u32..n step -1{}\nfor i in a..b step(c){ }",
          "for i in 0u32 .. n step -1 {}\nfor i in a .. b step (c) {}\n");
    check("print\"{} {}\",a,b\nlet x=global_id . x\nlet y=f32 . inf",
          "print \"{} {}\", a, b\nlet x = global_id.x\nlet y = f32.inf\n");
    check("grid elements(n),m\ngrid div_ceil(n,2)\ngrid indirect d[4]",
          "grid elements (n), m\ngrid div_ceil(n, 2)\ngrid indirect d[4]\n");
    check("if(a){b=1}\nreturn(a)\nwhile(a){}", "if (a) { b = 1 }\nreturn (a)\nwhile (a) {}\n");
    check("let a = - - b\nlet c = !!d\nlet e = a- -1", "let a = --b\nlet c = !!d\nlet e = a - -1\n");
}

static void indentation_follows_braces(void **state) {
    (void)state;
    check("program p {\nif a {\nb = 1\n}\n      else if c\n{\nd = 1\n}\n}",
          "program p {\n  if a {\n    b = 1\n  } else if c {\n    d = 1\n  }\n}\n");
    check("x =\n1 +\n2", "x =\n    1 +\n    2\n");
    check("if a {\nx = min(\nb,\nc)\n}", "if a {\n  x = min(\n      b,\n      c)\n}\n");
}

static void comments_stay(void **state) {
    (void)state;
    check("// one\n\n\n\n//two   \nlet a=1u32//three\n/* four */ let b = 2u32 /* five\n   six */\n",
          "// one\n\n//two\nlet a = 1u32  //three\n/* four */ let b = 2u32 /* five\n   six */\n");
}

static void comments_keep_their_text(void **state) {
    (void)state;
    check("if a { // why\n// how\nb = 1\n// last\n}", "if a {  // why\n  // how\n  b = 1\n  // last\n}\n");
    check("if a // why\n{\n}", "if a  // why\n{\n}\n");
    check("f(a, // first\nb)", "f(a,  // first\n    b)\n");
}

static void blank_lines_collapse(void **state) {
    (void)state;
    check("\n\n\na = 1\n\n\n\nb = 2\n\n\n", "a = 1\n\nb = 2\n");
    check("if a {\n\nb = 1\n\n}\n", "if a {\n  b = 1\n}\n");
    check("", "");
    check("\n  \n\t\n", "");
}

static void idle_semicolons_go(void **state) {
    (void)state;
    check("a = 1;\nb = 2; c = 3;;\nif d { ; e = 4; }", "a = 1\nb = 2; c = 3\nif d { e = 4 }\n");
    check("a = 1; // why", "a = 1  // why\n");
}

static void carriage_returns_and_marks_go(void **state) {
    (void)state;
    check("\xef\xbb\xbf// a\r\nlet a = 1u32\r\n\r\nlet b = 2u32 // c\r\n",
          "// a\nlet a = 1u32\n\nlet b = 2u32  // c\n");
}

static void what_does_not_match_is_refused(void **state) {
    (void)state;
    const char *const texts[] = {"{", "}", "(", "f(]", "if a { b = (1 }", "/* open", "\"open", "a @ b", "\xff"};
    for (unsigned i = 0; i < sizeof texts / sizeof *texts; i++) {
        vyre_diagnostics *found = vyre_diagnostics_new();
        vyre_bytes out = VYRE_BYTES_INIT;
        vyre_error error;
        assert_int_equal(vyre_text_format(texts[i], strlen(texts[i]), NULL, found, &out, &error), VYRE_INVALID_PROGRAM);
        assert_true(vyre_diagnostics_errors(found) > 0);
        assert_true(*error.fix);
        vyre_bytes_free(&out);
        vyre_diagnostics_free(found);
    }
}

/* ---- it never changes meaning ---- */

static void check_meaning(const char *text, size_t size) {
    vyre_bytes once = VYRE_BYTES_INIT, twice = VYRE_BYTES_INIT;
    vyre_module *before = NULL, *after = NULL;
    vyre_status status = vyre_text_parse(text, size, NULL, NULL, &before, NULL);
    if (vyre_text_format(text, size, NULL, NULL, &once, NULL) != VYRE_OK) {
        assert_int_not_equal(status, VYRE_OK);
        return;
    }
    assert_int_equal(vyre_text_format(once.data, once.size, NULL, NULL, &twice, NULL), VYRE_OK);
    if (once.size != twice.size || memcmp(once.data, twice.data, once.size) != 0)
        fail_msg("--- once ---\n%.*s--- twice ---\n%.*s", (int)once.size, (char *)once.data, (int)twice.size,
                 (char *)twice.data);
    assert_int_equal(vyre_text_parse(once.data, once.size, NULL, NULL, &after, NULL), status);
    if (status == VYRE_OK) {
        assert_int_equal(vyre_module_program_count(before), vyre_module_program_count(after));
        for (size_t i = 0; i < vyre_module_program_count(before); i++)
            assert_true(vyre_program_equal(vyre_module_program(before, i), vyre_module_program(after, i)));
    }
    vyre_module_free(before);
    vyre_module_free(after);
    vyre_bytes_free(&once);
    vyre_bytes_free(&twice);
}

static void check_folder(const char *folder) {
    char path[1024], copy[512];
    snprintf(copy, sizeof copy, "%s", vy_test_path(folder));
    DIR *directory = opendir(copy);
    assert_non_null(directory);
    for (struct dirent *entry; (entry = readdir(directory));) {
        size_t length = strlen(entry->d_name), size;
        if (length < 6 || strcmp(entry->d_name + length - 5, ".vyre") != 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", copy, entry->d_name);
        char *text = text_read_file(path, &size);
        check_meaning(text, size);
        free(text);
    }
    closedir(directory);
}

static void files_mean_the_same_afterwards(void **state) {
    (void)state;
    check_folder("examples");
    check_folder("tests/text/cases");
}

/* Any tokens in any order, on any lines: what is not refused keeps its tokens and is stable. */
static size_t token_kinds(const char *text, size_t size, uint8_t *kinds, size_t room) {
    vy_diag_sink report = {0};
    vy_lexer lexer;
    vy_token token;
    size_t count = 0;
    vy_lexer_start(&lexer, text, (uint32_t)size, &report);
    for (vy_lexer_next(&lexer, &token); token.kind != VY_TOKEN_END; vy_lexer_next(&lexer, &token))
        if (token.kind != VY_TOKEN_SEMICOLON && count < room)
            kinds[count++] = token.kind;
    vy_lexer_free(&lexer);
    return count;
}

static void token_soup_keeps_its_tokens(void **state) {
    (void)state;
    static const char *const words[] = {
        "a",       "step",   "count",  "elements", "grid",      "private", "u32",  "if", "else", "let",
        "5",       "1.5f32", "\"s\"",  "(",        ")",         "[",       "]",    "{",  "}",    ",",
        ";",       ":",      "?",      ".",        "..",        "->",      "=",    "+",  "-",    "*",
        "/",       "%",      "&",      "|",        "^",         "~",       "!",    "<<", ">>",   "&&",
        "||",      "==",     "!=",     "<",        "<=",        ">",       ">=",   "+=", "<<=",  "atomic_add",
        "bitcast", "true",   "// c\n", "/* d */",  "/* e\n */", "\n",      "\n\n", "\n"};
    vy_random random = vy_random_start(21);
    unsigned formatted = 0;
    for (unsigned round = 0; round < 20000 * vy_test_effort(); round++) {
        char text[1024];
        size_t size = 0;
        char open[64];
        unsigned depth = 0, length = 1 + (unsigned)vy_random_below(&random, 24);
        for (unsigned i = 0; i < length; i++) {
            const char *word = words[vy_random_below(&random, sizeof words / sizeof *words)];
            /* Keep brackets balanced most of the time, so that the formatter has something to do. */
            if (strchr("([{", *word) && word[1] == 0)
                open[depth++] = *word == '(' ? ')' : *word == '[' ? ']' : '}';
            else if (strchr(")]}", *word) && word[1] == 0) {
                if (depth == 0)
                    continue;
                size += (size_t)snprintf(text + size, sizeof text - size, "%c ", open[--depth]);
                continue;
            }
            size += (size_t)snprintf(text + size, sizeof text - size, "%s ", word);
        }
        while (depth)
            size += (size_t)snprintf(text + size, sizeof text - size, "%c ", open[--depth]);
        vyre_bytes once = VYRE_BYTES_INIT, twice = VYRE_BYTES_INIT;
        if (vyre_text_format(text, size, NULL, NULL, &once, NULL) == VYRE_OK) {
            uint8_t before[256], after[256];
            size_t n = token_kinds(text, size, before, 256), m;
            text_append(&once, "", 1);
            m = token_kinds(once.data, once.size - 1, after, 256);
            if (n != m || memcmp(before, after, n) != 0)
                fail_msg("the tokens change:\n%s\n---\n%s", text, (char *)once.data);
            assert_int_equal(vyre_text_format(once.data, once.size - 1, NULL, NULL, &twice, NULL), VYRE_OK);
            text_append(&twice, "", 1);
            if (strcmp(once.data, twice.data) != 0)
                fail_msg("formatting twice changes:\n%s\n--- once ---\n%s--- twice ---\n%s", text, (char *)once.data,
                         (char *)twice.data);
            formatted++;
        }
        vyre_bytes_free(&once);
        vyre_bytes_free(&twice);
    }
    assert_true(formatted > 10000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spaces_become_canonical),
        cmocka_unit_test(indentation_follows_braces),
        cmocka_unit_test(comments_stay),
        cmocka_unit_test(comments_keep_their_text),
        cmocka_unit_test(blank_lines_collapse),
        cmocka_unit_test(idle_semicolons_go),
        cmocka_unit_test(carriage_returns_and_marks_go),
        cmocka_unit_test(what_does_not_match_is_refused),
        cmocka_unit_test(files_mean_the_same_afterwards),
        cmocka_unit_test(token_soup_keeps_its_tokens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
