/* The speed of reading and writing text: MB of text per second for the lexer alone, for a whole parse (with validation
 * and fingerprint), for printing and for formatting, over programs of 1,000 to 100,000 statements.
 *
 * usage: text [--json]. Every number is the best of several runs, so that other load has little effect. The columns
 * must be constant from row to row: the time is linear in the size. */
#include "base/diagnostics.h"
#include "base/string.h"
#include "ir/text/lexer.h"
#include "vyre/text.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { RUNS = 5 };

/* A program like a handwritten one: names, loads, calls, control, comments. Ten statements per block. */
static void make_text(vy_string *out, unsigned statements) {
    vy_string_add(out, "fn mix(a: u32, b: u32) -> u32 {\n  return rotl(a ^ b, 13) * 5 + 0xe6546b64\n}\n\n"
                       "program bench {\n  param n : u32\n  buffer x : u32 read\n  buffer y : f32 read_write\n  "
                       "workgroup 64\n  grid over y\n\n"
                       "  let i = global_id.x\n  var h = i\n  var s = 0.0f32\n");
    for (unsigned k = 0; k < statements / 10; k++)
        vy_string_format(out,
                         "  let a_%u = x[i + %u] & 0xff          // a load, and a comment about it\n"
                         "  let b_%u = mix(a_%u, h) + (a_%u >> 3)\n"
                         "  h = (h ^ b_%u) * 16777619\n"
                         "  if b_%u > 128 && i < n {\n"
                         "    s = fma(f32(a_%u), 0.5, s * 1.0009765625)\n"
                         "  } else {\n"
                         "    s -= abs(s) / 3.0\n"
                         "  }\n"
                         "  for j in 0u32 .. 4 {\n"
                         "    y[i * 4 + j] = s > 1.0 ? sqrt(s) : -s\n"
                         "  }\n",
                         k, k, k, k, k, k, k, k);
    vy_string_add(out, "}\n");
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void lex(const vy_source *source) {
    vy_diag_sink report = {0};
    vy_lexer lexer;
    vy_token token;
    size_t size;
    const char *text = vy_source_text(source, &size);
    vy_lexer_start(&lexer, text, (uint32_t)size, &report);
    do
        vy_lexer_next(&lexer, &token);
    while (token.kind != VY_TOKEN_END);
    vy_lexer_free(&lexer);
}

typedef struct speeds {
    double lex, parse, print, format; /* MB of text per second */
    size_t bytes;
} speeds;

static void keep_best(double *best, double start, size_t bytes) {
    double speed = (double)bytes / (now() - start) / 1e6;
    *best = speed > *best ? speed : *best;
}

static int measure(unsigned statements, speeds *out) {
    vy_string text = {0};
    vyre_bytes printed = VYRE_BYTES_INIT, formatted = VYRE_BYTES_INIT;
    make_text(&text, statements);
    vy_source *source = text.failed ? NULL : vy_source_new("bench", text.text, text.length);
    vyre_status status = source ? VYRE_OK : VYRE_NO_MEMORY;
    *out = (speeds){.bytes = text.length};
    for (int run = 0; run < RUNS && status == VYRE_OK; run++) {
        vyre_module *module = NULL;
        vyre_error error;
        double start = now();
        lex(source);
        keep_best(&out->lex, start, text.length);
        start = now();
        status = vyre_text_parse(text.text, text.length, NULL, NULL, &module, &error);
        keep_best(&out->parse, start, text.length);
        if (status != VYRE_OK) {
            fprintf(stderr, "%s (%s)\n", error.message, error.where);
            break;
        }
        start = now();
        status = vyre_text_print(vyre_module_program(module, 0), &printed, &error);
        keep_best(&out->print, start, printed.size);
        start = now();
        if (status == VYRE_OK)
            status = vyre_text_format(text.text, text.length, NULL, NULL, &formatted, &error);
        keep_best(&out->format, start, text.length);
        vyre_module_free(module);
    }
    vyre_bytes_free(&printed);
    vyre_bytes_free(&formatted);
    vy_source_release(source);
    vy_string_free(&text);
    return status == VYRE_OK;
}

int main(int count, char **arguments) {
    int json = count > 1 && strcmp(arguments[1], "--json") == 0;
    static const unsigned sizes[] = {1000, 3000, 10000, 30000, 100000};
    printf(json ? "[" : "%10s %10s %10s %10s %10s %10s\n", "statements", "KB", "lex MB/s", "parse MB/s", "print MB/s",
           "fmt MB/s");
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        speeds s;
        if (!measure(sizes[i], &s))
            return 1;
        if (json)
            printf("%s\n  {\"statements\": %u, \"bytes\": %zu, \"lex_mb_s\": %.1f, \"parse_mb_s\": %.1f, "
                   "\"print_mb_s\": %.1f, \"format_mb_s\": %.1f}",
                   i ? "," : "", sizes[i], s.bytes, s.lex, s.parse, s.print, s.format);
        else
            printf("%10u %10zu %10.1f %10.1f %10.1f %10.1f\n", sizes[i], s.bytes / 1000, s.lex, s.parse, s.print,
                   s.format);
    }
    printf(json ? "\n]\n" : "");
    return 0;
}
