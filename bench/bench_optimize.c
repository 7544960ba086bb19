/* Time of each pass: nanoseconds per statement of its input program, over programs of 1,000 to 100,000 statements. The
 * validator and the fingerprint run after the last pass and are not counted.
 *
 * usage: optimize [--json]. Every number is the best of several runs. The columns must be constant from row to row: the
 * time is linear in the size. */
#include "base/string.h"
#include "vyre/text.h"
#include "vyre/transform.h"

#include <stdio.h>
#include <string.h>

enum { RUNS = 5 };

/* Input for every pass, ten statements per block: repeated loads, divisions, loops with loop-invariant code, short
 * loops, dead values. */
static void make_text(vy_string *out, unsigned statements) {
    vy_string_add(
        out, "program bench {\n  param n : u32\n  buffer x : u32 read\n  buffer y : u32 read_write\n  workgroup 64\n"
             "  grid over y\n  array a : u32 [8] private\n\n  let i = global_id.x\n  var h = i\n");
    for (unsigned k = 0; k < statements / 10; k++)
        vy_string_format(out,
                         "  let a_%u = x[i + %u] & 0xff + 0\n"
                         "  let b_%u = x[i + %u] / 10 + a_%u %% 7\n"
                         "  let unused_%u = b_%u * a_%u\n"
                         "  a[3] = b_%u\n"
                         "  h = (h ^ a[3]) * 16\n"
                         "  if a_%u < 256 {\n"
                         "    h = h + 1\n"
                         "  }\n"
                         "  for j in 0u32 .. n {\n"
                         "    y[i * 4 + j] = h + n * 3\n"
                         "  }\n",
                         k, k % 100, k, k % 100, k, k, k, k, k, k);
    vy_string_add(out, "}\n");
}

/* Nanoseconds per statement, by pass; 0 on success. */
static int measure(unsigned statements, double best[VYRE_PASS_COUNT]) {
    vy_string text = {0};
    vyre_module *module = NULL;
    vyre_error error;
    make_text(&text, statements);
    vyre_status status = vyre_text_parse(text.text, text.length, NULL, NULL, &module, &error);
    for (int run = 0; run < RUNS && status == VYRE_OK; run++)
        for (unsigned pass = 0; pass < VYRE_PASS_COUNT && status == VYRE_OK; pass++) {
            vyre_optimize_options options = {.passes = &(vyre_pass){(vyre_pass)pass}, .pass_count = 1};
            vyre_optimize_report report;
            vyre_program *made;
            status = vyre_program_optimize(vyre_module_program(module, 0), &options, &made, &report, &error);
            double each = (double)report.passes[pass].nanoseconds / report.statements_before;
            best[pass] = run == 0 || each < best[pass] ? each : best[pass];
            vyre_program_release(made);
        }
    if (status != VYRE_OK)
        fprintf(stderr, "%s (%s)\n", error.message, error.where);
    vyre_module_free(module);
    vy_string_free(&text);
    return status != VYRE_OK;
}

int main(int count, char **arguments) {
    int json = count > 1 && strcmp(arguments[1], "--json") == 0;
    static const unsigned sizes[] = {1000, 3000, 10000, 30000, 100000};
    printf(json ? "[" : "%10s", "statements");
    for (unsigned pass = 0; pass < VYRE_PASS_COUNT && !json; pass++)
        printf(" %10s", vyre_pass_name((vyre_pass)pass));
    printf(json ? "" : "   (ns a statement)\n");
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        double best[VYRE_PASS_COUNT];
        if (measure(sizes[i], best))
            return 1;
        printf(json ? "%s\n  {\"statements\": %u" : "%s%10u", json && i ? "," : "", sizes[i]);
        for (unsigned pass = 0; pass < VYRE_PASS_COUNT; pass++)
            if (json)
                printf(", \"%s_ns\": %.1f", vyre_pass_name((vyre_pass)pass), best[pass]);
            else
                printf(" %10.0f", best[pass]);
        printf(json ? "}" : "\n");
    }
    printf(json ? "\n]\n" : "");
    return 0;
}
