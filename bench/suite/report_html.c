/* The results as one page that needs nothing else: tables, and a picture of the ratios on a logarithmic scale. */
#include "suite.h"

#include <math.h>
#include <stdio.h>

static const char *const titles[VERSION_COUNT] = {"ours", "plain C", "PoCL", "lavapipe"};
static const char *const colours[VERSION_COUNT] = {"#444", "#2a6fbb", "#c4662d", "#3f8f4f"};

/* Geometry of the picture: ratios from 1/16 to 64. */
enum { LEFT = 190, WIDTH = 640, BAR = 9, GAP = 10, TOP = 24, LOW = -4, HIGH = 6 };

static void text(FILE *to, const char *from) {
    for (; *from; from++)
        if (*from == '<')
            fputs("&lt;", to);
        else if (*from == '&')
            fputs("&amp;", to);
        else
            fputc(*from, to);
}

static double x_of(double ratio) {
    double at = log2(ratio);
    at = at < LOW ? LOW : at > HIGH ? HIGH : at;
    return LEFT + (at - LOW) / (HIGH - LOW) * WIDTH;
}

static void head(FILE *to, const report *r) {
    fputs("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>libvyre: benchmark "
          "suite</title>\n<style>\n"
          "body{font:15px/1.5 system-ui,sans-serif;max-width:64em;margin:2em auto;padding:0 1em;color:#222}\n"
          "table{border-collapse:collapse;margin:1em 0}td,th{padding:.15em .7em;text-align:right;border-bottom:1px "
          "solid #ddd}\n"
          "td:first-child,th:first-child{text-align:left}.bad{color:#b00020}.good{color:#1b6e2e}.dim{color:#777}\n"
          "svg text{font:12px system-ui,sans-serif;fill:#222}\n</style></head><body>\n<h1>Benchmark suite</h1>\n<p>",
          to);
    text(to, r->cpu);
    fprintf(to, ", %d cores, last cache %.0f MiB; ", r->cores, (double)r->last_cache / 1048576);
    text(to, r->host);
    fprintf(to, "; %s, commit %s, %.0f s, load before %.1f%s.</p>\n<ul>\n", r->date, r->commit, r->seconds, r->load,
            r->load > 0.5 ? " <b class=\"bad\">(others used the machine: trust the best times)</b>" : "");
    for (int v = 0; v < VERSION_COUNT; v++) {
        fprintf(to, "<li><b style=\"color:%s\">%s</b>: ", colours[v], titles[v]);
        if (r->missing[v][0])
            fputs("<span class=\"bad\">not measured</span>: ", to);
        text(to, r->missing[v][0] ? r->missing[v] : r->versions[v]);
        fputs("</li>\n", to);
    }
    fputs("</ul>\n<p>Times run from inputs in memory to outputs in memory, on buffers nobody copies; nothing is "
          "allocated or compiled "
          "meanwhile. A ratio is the time of the peer over ours: above 1, ours is faster.</p>\n",
          to);
}

static void means(FILE *to, const report *r, figure figure) {
    static const char *const sizes[] = {"small", "medium", "large", NULL};
    fputs("<h2>Geometric "
          "means</h2>\n<table><tr><th>against</th><th>small</th><th>medium</th><th>large</th><th>all</th></tr>\n",
          to);
    for (int v = VERSION_C; v < VERSION_COUNT; v++) {
        fprintf(to, "<tr><td>%s</td>", titles[v]);
        for (int i = 0; i < 4; i++) {
            size_t count;
            double mean = suite_geometric_mean(r, (version)v, sizes[i], figure, &count);
            if (count)
                fprintf(to, "<td class=\"%s\">%.2f</td>", mean < 1 ? "bad" : "good", mean);
            else
                fputs("<td class=\"dim\">–</td>", to);
        }
        fputs("</tr>\n", to);
    }
    fputs("</table>\n", to);
}

static void picture(FILE *to, const report *r) {
    int height = TOP + (int)r->row_count * ((VERSION_COUNT - 1) * BAR + GAP) + 10, y = TOP;
    if (r->missing[VERSION_OURS][0])
        return;
    fprintf(to, "<h2>Ratios</h2>\n<svg viewBox=\"0 0 %d %d\" width=\"100%%\" role=\"img\">\n", LEFT + WIDTH + 60,
            height);
    for (int i = LOW; i <= HIGH; i++) {
        double x = x_of(exp2(i));
        fprintf(to, "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\" stroke=\"%s\"/>", x, x, TOP - 4, height,
                i ? "#ddd" : "#222");
        fprintf(to, "<text x=\"%.1f\" y=\"14\" text-anchor=\"middle\">%s%d</text>\n", x, i < 0 ? "1/" : "",
                1 << (i < 0 ? -i : i));
    }
    for (size_t i = 0; i < r->row_count; i++, y += GAP) {
        const row *row = &r->rows[i];
        fprintf(to, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s, %s</text>\n", LEFT - 8,
                y + (VERSION_COUNT - 1) * BAR / 2 + 4, row->kernel->name, row->size);
        for (int v = VERSION_C; v < VERSION_COUNT; v++, y += BAR) {
            if (!row->times[v].samples || !row->times[VERSION_OURS].samples)
                continue;
            double ratio = row->times[v].median / row->times[VERSION_OURS].median;
            double from = fmin(x_of(1), x_of(ratio)), end = fmax(x_of(1), x_of(ratio));
            fprintf(
                to,
                "<rect x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"%s\"><title>%s: %.2f</title></rect>\n",
                from, y, fmax(end - from, 1), BAR - 1, colours[v], titles[v], ratio);
        }
    }
    fputs("</svg>\n", to);
}

static void rows(FILE *to, const report *r) {
    fputs("<h2>Times</h2>\n<table><tr><th>kernel</th><th>size</th><th>n</th>", to);
    for (int v = 0; v < VERSION_COUNT; v++)
        fprintf(to, "<th>%s, µs</th>", titles[v]);
    for (int v = VERSION_C; v < VERSION_COUNT; v++)
        fprintf(to, "<th>%s / ours</th>", titles[v]);
    fputs("</tr>\n", to);
    for (size_t i = 0; i < r->row_count; i++) {
        const row *row = &r->rows[i];
        fprintf(to, "<tr><td>%s</td><td>%s</td><td>%zu</td>", row->kernel->name, row->size, row->n);
        for (int v = 0; v < VERSION_COUNT; v++)
            if (row->times[v].samples) {
                const statistic *s = &row->times[v];
                fprintf(to, "<td title=\"min %.1f µs, spread %.0f %%, %d samples\">%.1f</td>", s->min * 1e6,
                        s->spread * 100, s->samples, s->median * 1e6);
            } else {
                fputs("<td class=\"dim\" title=\"", to);
                text(to, row->problems[v]);
                fprintf(to, "\">%s</td>", row->problems[v][0] ? "<span class=\"bad\">failed</span>" : "–");
            }
        for (int v = VERSION_C; v < VERSION_COUNT; v++)
            if (row->times[v].samples && row->times[VERSION_OURS].samples) {
                double ratio = row->times[v].median / row->times[VERSION_OURS].median;
                fprintf(to, "<td class=\"%s\">%.2f</td>", ratio < 1 ? "bad" : "good", ratio);
            } else {
                fputs("<td class=\"dim\">–</td>", to);
            }
        fputs("</tr>\n", to);
    }
    fputs("</table>\n", to);
}

static void extras(FILE *to, const report *r) {
    fputs(
        "<h2>Dispatch, compiling, bandwidth</h2>\n<table><tr><th>what</th><th></th><th>median</th><th>best</th></tr>\n",
        to);
    for (size_t i = 0; i < r->extra_count; i++) {
        const extra *e = &r->extras[i];
        int rate = e->unit[0] == 'G';
        double factor = rate ? 1 : 1e6, best = rate ? fmax(e->value.median, e->value.min) : e->value.min;
        fprintf(to, "<tr><td>%s</td><td style=\"text-align:left\">%s</td><td>%.2f %s</td><td>%.2f</td></tr>\n",
                e->group, e->name, e->value.median * factor, rate ? e->unit : "µs", best * factor);
    }
    fputs("</table>\n", to);
}

int suite_write_html(const report *r, const char *path) {
    FILE *to = fopen(path, "w");
    if (!to)
        return 0;
    head(to, r);
    means(to, r, FIGURE_MEDIAN);
    means(to, r, FIGURE_BEST);
    picture(to, r);
    rows(to, r);
    extras(to, r);
    fputs("</body></html>\n", to);
    return fclose(to) == 0;
}
