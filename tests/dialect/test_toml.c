/* The TOML parser by our own cases; test_toml_suite.c has the official ones. */
#include "dialect/toml_tree.h"
#include "support/fault.h"
#include "support/test.h"

#include <inttypes.h>

static vy_toml *read_size(const char *text, size_t size) {
    vyre_error error;
    vy_toml *document;
    if (vy_toml_parse("t.toml", text, size, NULL, &document, &error) != VYRE_OK)
        fail_msg("refused: %s (%s)\n%.*s", error.message, error.where, size > 400 ? 400 : (int)size, text);
    return document;
}

static vy_toml *read(const char *text) {
    return read_size(text, strlen(text));
}

/* The code of the first finding; "" if there is none. */
static const char *code_of(const char *text, size_t size) {
    static char code[8];
    vyre_error error = VYRE_ERROR_INIT;
    vy_toml *document;
    code[0] = 0;
    if (vy_toml_parse("t.toml", text, size, NULL, &document, &error) != VYRE_OK)
        snprintf(code, sizeof code, "%.4s", error.message);
    vy_toml_free(document);
    return code;
}

static void expect_code(const char *text, const char *code) {
    const char *given = code_of(text, strlen(text));
    if (strcmp(given, code) != 0)
        fail_msg("`%s` gives %s instead of %s", text, *given ? given : "no finding", *code ? code : "none");
}

static const vy_toml_value *value_of(const vy_toml *document, const char *key) {
    const vy_toml_entry *entry = vy_toml_find(vy_toml_root(document), key, strlen(key));
    assert_non_null(entry);
    return &entry->value;
}

/* The printed form of the tree of a text is the other text. */
static void expect_tree(const char *text, const char *printed) {
    vy_toml *document = read(text);
    vy_string given = {0};
    tree_print(&given, vy_toml_root(document));
    vy_string_add(&given, "");
    assert_string_equal(given.text ? given.text : "", printed);
    vy_string_free(&given);
    vy_toml_free(document);
}

/* ---- values ---- */

static void integers_are_exact_to_the_last(void **state) {
    (void)state;
    expect_tree("a = 9223372036854775807\nb = -9223372036854775808\nc = 0x7fff_ffff_ffff_ffff\n"
                "d = 0o777777777777777777777\ne = 0b101\nf = +0\ng = -0\nh = 1_000",
                "\"a\" = 9223372036854775807\n\"b\" = -9223372036854775808\n\"c\" = 9223372036854775807\n"
                "\"d\" = 9223372036854775807\n\"e\" = 5\n\"f\" = 0\n\"g\" = 0\n\"h\" = 1000\n");
    expect_code("a = 9223372036854775808", "D010");
    expect_code("a = -9223372036854775809", "D010");
    expect_code("a = 0x8000000000000000", "D010");
    expect_code("a = 99999999999999999999999999", "D010");
    static const char *const wrong[] = {"a = 01",   "a = +0x1", "a = 0X1", "a = 1__0", "a = _1", "a = 1_",
                                        "a = 0x_1", "a = 0b2",  "a = 0o8", "a = 0x",   "a = 1a", "a = --1"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_string_not_equal(code_of(wrong[i], strlen(wrong[i])), "");
}

static void floats_are_rounded_once(void **state) {
    static const struct {
        const char *text;
        uint64_t bits;
    } cases[] = {{"0.1", 0x3fb999999999999a},
                 {"-0.0", 0x8000000000000000},
                 {"1e1_0", 0x4202a05f20000000},
                 {"1E+2", 0x4059000000000000},
                 {"6.626e-34", 0x390b85f8c5445f02},
                 {"+inf", 0x7ff0000000000000},
                 {"-inf", 0xfff0000000000000},
                 {"nan", 0x7ff8000000000000},
                 {"-nan", 0xfff8000000000000},
                 {"1e400", 0x7ff0000000000000},
                 {"9007199254740993.0", 0x4340000000000000},
                 {"5e-324", 1},
                 {"1_0.2_5", 0x4024800000000000},
                 {"0e0", 0}};
    char text[64];
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t bits;
        snprintf(text, sizeof text, "a = %s", cases[i].text);
        vy_toml *document = read(text);
        assert_int_equal(value_of(document, "a")->kind, VY_TOML_FLOAT);
        memcpy(&bits, &value_of(document, "a")->number, sizeof bits);
        if (bits != cases[i].bits)
            fail_msg("%s reads as %016" PRIx64, cases[i].text, bits);
        vy_toml_free(document);
    }
    static const char *const wrong[] = {"1.", ".5",   "1.e2",  "01.5", "1._5",    "1_.5",
                                        "1e", "1e_1", "1.5.1", "Inf",  "infinity"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        snprintf(text, sizeof text, "a = %s", wrong[i]);
        assert_string_not_equal(code_of(text, strlen(text)), "");
    }
}

static void dates_and_times_keep_their_fields(void **state) {
    (void)state;
    expect_tree("a = 1979-05-27T07:32:00.999999999999-07:30\nb = 1979-05-27 07:32:00\nc = 2000-02-29\nd = 23:59:60.5\n"
                "e = 1979-05-27t07:32:00z # comment\nf = [2001-01-01 , 2001-01-01 00:00:00 ]",
                "\"a\" = 1979-05-27T07:32:00.999999999-07:30\n\"b\" = 1979-05-27T07:32:00\n\"c\" = 2000-02-29\n"
                "\"d\" = 23:59:60.5\n\"e\" = 1979-05-27T07:32:00Z\n\"f\" = [2001-01-01, 2001-01-01T00:00:00]\n");
    vy_toml *document = read("a = 0001-02-03T04:05:06.000000007+23:59");
    const vy_toml_time *t = &value_of(document, "a")->time;
    assert_true(t->year == 1 && t->month == 2 && t->day == 3 && t->hour == 4 && t->minute == 5 && t->second == 6);
    assert_true(t->nanosecond == 7 && t->offset == 23 * 60 + 59);
    vy_toml_free(document);
    static const char *const wrong[] = {"2100-02-29",
                                        "2000-13-01",
                                        "2000-00-01",
                                        "2000-01-32",
                                        "2000-01-00",
                                        "24:00:00",
                                        "00:60:00",
                                        "00:00:61",
                                        "00:00",
                                        "1:00:00",
                                        "10000-01-01",
                                        "2000-1-01",
                                        "2000-01-01T",
                                        "2000-01-01T00:00:00+24:00",
                                        "2000-01-01T00:00:00+00:60",
                                        "2000-01-01T00:00:00.",
                                        "2000-01-01T00:00:00+0000",
                                        "00:00:00Z",
                                        "2000-01-01  00:00:00",
                                        "2000-01-01x"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char text[64];
        snprintf(text, sizeof text, "a = %s", wrong[i]);
        if (!*code_of(text, strlen(text)))
            fail_msg("%s is accepted", wrong[i]);
    }
}

static void strings_mean_what_their_quotes_say(void **state) {
    (void)state;
    expect_tree("a = \"\\b\\t\\n\\f\\r\\\"\\\\\\u00e9\\U0001F600\"",
                "\"a\" = \"\\u0008\\u0009\\u000A\\u000C\\u000D\\u0022\\u005C\xc3\xa9\xf0\x9f\x98\x80\"\n");
    expect_tree("a = 'C:\\n'", "\"a\" = \"C:\\u005Cn\"\n");
    expect_tree("a = \"\"\"\r\nx\r\ny\"\"\"", "\"a\" = \"x\\u000Ay\"\n");
    expect_tree("a = \"\"\"x\\  \r\n\n   y\"\"\"", "\"a\" = \"xy\"\n");
    expect_tree("a = '''\n'''''", "\"a\" = \"''\"\n");
    expect_tree("a = \"\"\"\"\"\"\nb = ''\n", "\"a\" = \"\"\n\"b\" = \"\"\n");
    expect_tree("a = \"\"\"\"x\"\"\"\"\"", "\"a\" = \"\\u0022x\\u0022\\u0022\"\n");
    static const char *const unclosed[] = {"a = \"",     "a = 'x",      "a = \"\"\"x\"\"",
                                           "a = '''x''", "a = \"x\\\"", "a = 'x\ny'"};
    for (size_t i = 0; i < sizeof unclosed / sizeof *unclosed; i++)
        expect_code(unclosed[i], "D007");
    static const char *const escapes[] = {"a = \"\\e\"",         "a = \"\\x41\"", "a = \"\\ud800\"",
                                          "a = \"\\U00110000\"", "a = \"\\u12\"", "a = \"\\ \"",
                                          "a = \"\"\"\\ x\"\"\""};
    for (size_t i = 0; i < sizeof escapes / sizeof *escapes; i++)
        expect_code(escapes[i], "D008");
    expect_code("a = \"\x01\"", "D003");
    expect_code("a = '''\x7f'''", "D003");
    expect_code("a = '''x\ry'''", "D003");
    expect_code("a = \"\xc3\x28\"", "D001");
}

static void a_nul_is_text_when_escaped_and_refused_when_bare(void **state) {
    (void)state;
    vy_toml *document = read("\"\\u0000k\" = \"a\\u0000b\"");
    const vy_toml_entry *entry = vy_toml_find(vy_toml_root(document), "\0k", 2);
    assert_non_null(entry);
    assert_int_equal(entry->value.string.size, 3);
    assert_memory_equal(entry->value.string.text, "a\0b", 4);
    vy_toml_free(document);
    assert_string_equal(code_of("a = 1\0", 6), "D006");
    assert_string_equal(code_of("# \0", 3), "D003");
}

/* ---- tables ---- */

static void tables_keep_the_order_of_the_document(void **state) {
    (void)state;
    expect_tree("z = 1\na.y.b = 2\n[t]\nq = {x = 1, \"\" = []}\n[[l]]\n[l.m]\n[[l]]\nn = 1\n[t.u]",
                "\"z\" = 1\n\"a\" = {\"y\" = {\"b\" = 2}}\n\"t\" = {\"q\" = {\"x\" = 1, \"\" = []}, \"u\" = {}}\n"
                "\"l\" = [{\"m\" = {}}, {\"n\" = 1}]\n");
}

static void every_key_of_a_large_table_is_found(void **state) {
    vy_string text = {0};
    char key[32];
    enum { COUNT = 3000 };
    (void)state;
    for (int i = 0; i < COUNT; i++)
        vy_string_format(&text, "key%d = %d\n", i, i);
    vy_toml *document = read_size(text.text, text.length);
    assert_int_equal(vy_toml_root(document)->table.count, COUNT);
    for (int i = 0; i < COUNT; i++) {
        snprintf(key, sizeof key, "key%d", i);
        assert_int_equal(value_of(document, key)->integer, i);
    }
    assert_null(vy_toml_find(vy_toml_root(document), "key", 3));
    vy_toml_free(document);
    vy_string_free(&text);
}

static void what_exists_may_be_extended_only_where_it_is_open(void **state) {
    static const struct {
        const char *text, *code;
    } cases[] = {
        {"[a.b]\n[a]", ""},
        {"[a]\n[a.b]", ""},
        {"[a.b]\n[a]\n[a.b]", "D015"},
        {"[a]\n[a]", "D015"},
        {"a.b = 1\n[a]", "D015"},
        {"a.b = 1\n[a.c]", ""},
        {"a.b.c = 1\n[a.b]", "D015"},
        {"a.b.c = 1\n[a.b.d]", ""},
        {"a.b = 1\na.c = 2", ""},
        {"a.b = 1\na.b.c = 2", "D016"},
        {"a = 1\na.b = 2", "D016"},
        {"a = 1\na = 2", "D015"},
        {"a = 1\n\"a\" = 2", "D015"},
        {"a = {b = 1}\na.c = 2", "D016"},
        {"a = {b = 1}\n[a.c]", "D016"},
        {"a = {b = 1}\n[a]", "D015"},
        {"a = {b.c = 1, b.d = 2}", ""},
        {"a = {b = {}, b.c = 2}", "D016"},
        {"a = {b = 1, b = 2}", "D015"},
        {"a = {b.c = 1}\n[a.b]", "D016"},
        {"a = []\n[[a]]", "D015"},
        {"a = [{}]\n[a.b]", "D016"},
        {"a = [{}]\na.b = 1", "D016"},
        {"[[a]]\n[a]", "D015"},
        {"[a]\n[[a]]", "D015"},
        {"[[a]]\n[a.b]\n[[a]]\n[a.b]", ""},
        {"[[a]]\n[a.b]\n[a.b]", "D015"},
        {"[[a.b]]\n[a]\nb.c = 1", "D016"},
        {"[a.b]\n[[a]]", "D015"},
        {"[a.b.c]\n[a]\nb.c.d = 1", "D016"},
        {"[a.b.c]\n[a]\nb.d = 1", ""},
        {"[a.b.c]\n[a]\nb.d = 1\n[a.b]", "D015"},
        {"[a]\nb.c = 1\n[a.b]", "D015"},
        {"[[a]]\nb.c = 1\n[a.b]", "D015"},
        {"[[a]]\nb.c = 1\n[a.b.d]", ""},
        {"[[a]]\n[[a.b]]\n[[a.b]]\n[[a]]\n[[a.b]]", ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_code(cases[i].text, cases[i].code);
}

static void the_form_of_a_line_is_strict(void **state) {
    static const struct {
        const char *text, *code;
    } cases[] = {
        {"\xef\xbb\xbf"
         "a = 1",
         ""},
        {"a = 1\r\n", ""},
        {"a = 1 # c", ""},
        {" \t a\t=\t1 ", ""},
        {"a = 1 b = 2", "D006"},
        {"a = 1\rb = 2", "D003"},
        {"a", "D005"},
        {"a =", "D005"},
        {"a = \n1", "D005"},
        {"= 1", "D004"},
        {"a. = 1", "D004"},
        {".a = 1", "D004"},
        {"a..b = 1", "D004"},
        {"\"\"\"a\"\"\" = 1", "D004"},
        {"\xc3\xa9 = 1", "D004"},
        {"[a", "D017"},
        {"[]", "D004"},
        {"[[a]", "D017"},
        {"[a]]", "D006"},
        {"[ [a]]", "D004"},
        {"[[a] ]", "D017"},
        {"[a] b = 1", "D006"},
        {"[ a . 'b' ]", ""},
        {"a = {b = 1,}", "D014"},
        {"a = {b = 1\n}", "D014"},
        {"a = {b = 1,\nc = 2}", "D014"},
        {"a = {\n}", "D004"},
        {"a = [1, 2,]", ""},
        {"a = [1 2]", "D013"},
        {"a = [,]", "D005"},
        {"a = [1,,2]", "D005"},
        {"a = [ # c\n1 # d\n, # e\n]", ""},
        {"a = [", "D013"},
        {"a = True", "D012"},
        {"a = yes", "D012"},
        {"1.2 = 3", ""},
        {"true = true\n-= 1", ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_code(cases[i].text, cases[i].code);
}

/* ---- places ---- */

static void values_and_keys_know_their_place(void **state) {
    (void)state;
    vy_toml *document = read("# c\nab = [1,\n  'x']\n[[t]]\nk.l = 5\n");
    const vy_toml_value *array = value_of(document, "ab"), *item = array->array.last;
    assert_true(array->at.line == 2 && array->at.column == 6);
    assert_true(item->at.line == 3 && item->at.column == 3 && item->at.length == 3);
    const vy_toml_value *table = value_of(document, "t")->array.first;
    assert_true(table->at.line == 4 && table->at.column == 1 && table->at.length == 5);
    const vy_toml_entry *k = table->table.first;
    assert_true(k->at.line == 5 && k->at.column == 1 && k->at.length == 1);
    assert_true(k->value.table.first->at.column == 3 && k->value.table.first->value.at.column == 7);
    vy_toml_free(document);
}

static void a_byte_of_a_string_is_found_behind_any_escape(void **state) {
    static const struct {
        const char *text;
        size_t offset;
        uint32_t line, column;
    } cases[] = {
        {"a = 'xyz'", 0, 1, 6},
        {"a = 'xyz'", 2, 1, 8},
        {"a = 'xyz'", 3, 1, 9}, /* the end */
        {"a = 'xyz'", 99, 1, 9},
        {"a = '''\nx\ny'''", 2, 3, 1},
        {"a = \"\\n\\u00e9z\"", 3, 1, 14},
        {"a = \"\"\"\\\n  \n  z\"\"\"", 0, 3, 3},
        {"a = \"\"\"x\\\n  z\"\"\"", 1, 2, 3},
        {"a = \"\"\"\r\nx\r\nz\"\"\"", 2, 3, 1},
        {"a = \"\"\"x\"\"\"\"\"", 2, 1, 10},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        vy_toml *document = read(cases[i].text);
        vy_position at = vy_toml_locate(document, value_of(document, "a"), cases[i].offset, 1);
        if (at.line != cases[i].line || at.column != cases[i].column)
            fail_msg("byte %zu of `%s` is said to be at %u:%u", cases[i].offset, cases[i].text, at.line, at.column);
        vy_toml_free(document);
    }
}

/* ---- limits ---- */

static void expect_depth(const char *open, const char *middle, const char *close, size_t depth, const char *code) {
    vy_string text = {0};
    for (size_t i = 0; i < depth; i++)
        vy_string_add(&text, open);
    vy_string_add(&text, middle);
    for (size_t i = 0; i < depth; i++)
        vy_string_add(&text, close);
    assert_string_equal(code_of(text.text, text.length), code);
    vy_string_free(&text);
}

static void nesting_is_bounded_however_it_is_written(void **state) {
    static const struct {
        const char *open, *middle, *close;
        size_t most; /* repetitions that fit */
    } cases[] = {
        {"a.", "a = 1", "", 128},
        {"a={", "", "}", 128},
        {"a=[{", "", "}]", 64},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        expect_depth(cases[i].open, cases[i].middle, cases[i].close, cases[i].most, "");
        expect_depth(cases[i].open, cases[i].middle, cases[i].close, cases[i].most + 1, "D002");
        expect_depth(cases[i].open, cases[i].middle, cases[i].close, 1000000, "D002");
    }
    vy_string text = {0};
    vy_string_add(&text, "a = ");
    for (int i = 0; i < 128; i++)
        vy_string_char(&text, '[');
    for (int i = 0; i < 128; i++)
        vy_string_char(&text, ']');
    assert_string_equal(code_of(text.text, text.length), "");
    vy_string_free(&text);
    /* Headers count as the rest does: 127 implicit tables, one table, then a value that would be the next. */
    vy_string_add(&text, "[a");
    for (int i = 0; i < 127; i++)
        vy_string_add(&text, ".a");
    vy_string_add(&text, "]\nb = 1\n");
    assert_string_equal(code_of(text.text, text.length), "");
    vy_string_add(&text, "c = []\n");
    assert_string_equal(code_of(text.text, text.length), "D002");
    vy_string_free(&text);
}

static void a_text_over_the_limit_is_refused_before_it_is_read(void **state) {
    vyre_error error;
    vy_toml *document;
    (void)state;
    assert_int_equal(vy_toml_parse("t.toml", "", VY_TOML_LIMIT_BYTES + (size_t)1, NULL, &document, &error), VYRE_LIMIT);
    assert_non_null(strstr(error.message, "limit"));
}

/* Each of these would take minutes if anything in it were quadratic; memory stays within a fixed factor of the text. */
static void large_documents_take_time_and_memory_in_proportion(void **state) {
    static const char *const lines[] = {"k%d = 1\n",          "a.b.k%d = 1\n", "[t%d]\n",          "[[t]]\nk%d = 1\n",
                                        "[s.t%d.u.v]\nx=1\n", "k%d = 1 2\n",   "k = %d\n",         "k%d = \"\"\"\n",
                                        "k%d = [\n",          "[t%d\n",        "\"k\\u%d\" = 1\n", "\\   %d\n"};
    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        vy_string text = {0};
        vyre_diagnostics *found;
        vy_toml *document;
        for (int k = 0; k < 100000; k++)
            vy_string_format(&text, lines[i], k);
        vy_fault_install();
        found = vyre_diagnostics_new();
        vy_toml_parse("t.toml", text.text, text.length, found, &document, NULL);
        assert_true(vy_fault_peak_bytes() < 64 * text.length + (1 << 20));
        vy_toml_free(document);
        vyre_diagnostics_free(found);
        assert_int_equal(vy_fault_live_blocks(), 0);
        vy_fault_remove();
        vy_string_free(&text);
    }
}

/* ---- any input ---- */

static const char rich[] = "# every construct\n"
                           "title = \"a\\u00e9\\n\" # c\n"
                           "lines = \"\"\"\n  one \\\n   two\"\"\"\nraw = '''x'''\n"
                           "n = [1, 0xff, 1.5e3, inf, true, [], {a.b = 1, c = 'd'},\n]\n"
                           "t = [1979-05-27T07:32:00Z, 1979-05-27 07:32:00.5, 1979-05-27, 07:32:00]\n"
                           "a.\"b c\".d = 1\n[x.y]\nz = 1\n[x]\n[[l]]\nk = 1\n[[l]]\n[l.m]\n"
                           "a1=1\na2=1\na3=1\na4=1\na5=1\na6=1\na7=1\na8=1\na9=1\n";

static void every_beginning_of_a_document_is_read_or_refused(void **state) {
    (void)state;
    for (size_t size = 0; size < sizeof rich; size++) {
        char *exact = malloc(size ? size : 1); /* so that a sanitizer sees a read beyond it */
        assert_non_null(exact);
        memcpy(exact, rich, size);
        code_of(exact, size);
        free(exact);
    }
}

static void every_changed_byte_is_read_or_refused(void **state) {
    static const char bytes[] = "\0\n\r\"'[]{}=.,#\\x0-:_\xff";
    char text[sizeof rich];
    (void)state;
    for (size_t i = 0; i + 1 < sizeof rich; i++)
        for (size_t k = 0; k < sizeof bytes - 1; k++) {
            memcpy(text, rich, sizeof rich);
            text[i] = bytes[k];
            code_of(text, sizeof rich - 1);
        }
}

static vyre_status read_once(void *user) {
    const char *text = user;
    vyre_diagnostics *found = vyre_diagnostics_new();
    vyre_error error;
    vy_toml *document;
    vyre_status status = vy_toml_parse("t.toml", text, strlen(text), found, &document, &error);
    assert_true((status == VYRE_OK) == (document != NULL));
    assert_true(status == VYRE_OK || (*error.message && *error.fix));
    vy_toml_free(document);
    vyre_diagnostics_free(found);
    return status;
}

static vyre_status read_wrong(void *user) {
    vyre_status status = read_once(user);
    assert_int_not_equal(status, VYRE_OK);
    return status == VYRE_INVALID_PROGRAM ? VYRE_OK : status;
}

static void any_allocation_may_fail(void **state) {
    (void)state;
    assert_true(VY_FAULT_LOOP_LENIENT(read_once, (void *)rich) > 5);
    VY_FAULT_LOOP_LENIENT(read_wrong,
                          (void *)"a = 1\na = \"\\q\"\n[a]\nb = {c = 1, c = 2}\nc = 2000-13-01\nd = [1 2]\n");
}

static void several_mistakes_are_found_in_one_run(void **state) {
    static const char text[] =
        "a = 1\na = 2\nb = 99999999999999999999\nc = [1 2]\nd = 2001-02-30\ne = yes\n[t\nf = \"\\q\"\n";
    vyre_diagnostics *found = vyre_diagnostics_new();
    vyre_error error;
    vy_toml *document;
    (void)state;
    assert_int_equal(vy_toml_parse("t.toml", text, strlen(text), found, &document, &error), VYRE_INVALID_PROGRAM);
    assert_int_equal(vyre_diagnostics_errors(found), 7);
    assert_non_null(strstr(error.message, "and 6 more errors"));
    assert_string_equal(error.where, "t.toml:2:1");
    vyre_diagnostics_free(found);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_are_exact_to_the_last),
        cmocka_unit_test(floats_are_rounded_once),
        cmocka_unit_test(dates_and_times_keep_their_fields),
        cmocka_unit_test(strings_mean_what_their_quotes_say),
        cmocka_unit_test(a_nul_is_text_when_escaped_and_refused_when_bare),
        cmocka_unit_test(tables_keep_the_order_of_the_document),
        cmocka_unit_test(every_key_of_a_large_table_is_found),
        cmocka_unit_test(what_exists_may_be_extended_only_where_it_is_open),
        cmocka_unit_test(the_form_of_a_line_is_strict),
        cmocka_unit_test(values_and_keys_know_their_place),
        cmocka_unit_test(a_byte_of_a_string_is_found_behind_any_escape),
        cmocka_unit_test(nesting_is_bounded_however_it_is_written),
        cmocka_unit_test(a_text_over_the_limit_is_refused_before_it_is_read),
        cmocka_unit_test(large_documents_take_time_and_memory_in_proportion),
        cmocka_unit_test(every_beginning_of_a_document_is_read_or_refused),
        cmocka_unit_test(every_changed_byte_is_read_or_refused),
        cmocka_unit_test(any_allocation_may_fail),
        cmocka_unit_test(several_mistakes_are_found_in_one_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
