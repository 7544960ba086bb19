/* The results as a self-contained page: tables, and a chart of the ratios on a logarithmic scale. */
#include "suite.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const colours[VERSION_COUNT] = {"#444",    "#2a6fbb", "#c4662d", "#3f8f4f",
                                                   "#8a5fb0", "#76900a", "#b0446a"};

/* Geometry of the chart: ratios from 1/16 to 64. */
enum { LEFT = 190, WIDTH = 640, BAR = 9, GAP = 10, TOP = 24, LOW = -4, HIGH = 6, LANE = 16 };

/* A version that was not requested, or is not available, has no columns. */
static int is_shown(const report *r, int v) {
    return v == VERSION_OURS || !r->missing[v][0];
}

static int is_held(const report *r, const pairing *c) {
    return is_shown(r, c->theirs) && is_shown(r, c->mine);
}

static int held_pairings(const report *r) {
    int count = 0;
    for (int k = 0; k < PAIRINGS; k++)
        count += is_held(r, &suite_pairings[k]);
    return count;
}

/* The colour of the peer; if `mine` is not version `ours`, that of `mine`. */
static const char *colour_of(const pairing *c) {
    return colours[c->mine == VERSION_OURS ? c->theirs : c->mine];
}

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
            suite_is_busy(r) ? " <b class=\"bad\">(others used the machine: trust the best times)</b>" : "");
    for (int v = 0; v < VERSION_COUNT; v++) {
        fprintf(to, "<li><b style=\"color:%s\">%s</b>: ", colours[v], suite_runners[v]->title);
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

static const char *const figure_names[] = {[FIGURE_MEDIAN] = "medians",
                                           [FIGURE_BEST] = "best times",
                                           [FIGURE_DEVICE] = "the device's clock, single runs",
                                           [FIGURE_REPEATED] = "the device's clock, runs in line"};

static void means(FILE *to, const report *r, figure figure) {
    static const char *const sizes[] = {"small", "medium", "large", NULL};
    fprintf(to,
            "<h2>Geometric means, by %s</h2>\n<table><tr><th></th><th>small</th><th>medium</th><th>large</th>"
            "<th>all</th></tr>\n",
            figure_names[figure]);
    for (int k = 0; k < PAIRINGS; k++) {
        const pairing *c = &suite_pairings[k];
        if (!is_held(r, c))
            continue;
        fprintf(to, "<tr><td>%s / %s</td>", suite_runners[c->theirs]->title, suite_runners[c->mine]->title);
        for (int i = 0; i < 4; i++) {
            size_t count;
            double mean = suite_geometric_mean(r, c, sizes[i], figure, &count);
            if (count)
                fprintf(to, "<td class=\"%s\">%.2f</td>", mean < 1 ? "bad" : "good", mean);
            else
                fputs("<td class=\"dim\">–</td>", to);
        }
        fputs("</tr>\n", to);
    }
    fputs("</table>\n", to);
}

static void picture(FILE *to, const report *r, figure figure) {
    int peers = held_pairings(r), height = TOP + (int)r->row_count * (peers * BAR + GAP) + 10, y = TOP;
    if (r->missing[VERSION_OURS][0])
        return;
    fprintf(to, "<h2>Ratios, by %s</h2>\n<svg viewBox=\"0 0 %d %d\" width=\"100%%\" role=\"img\">\n",
            figure_names[figure], LEFT + WIDTH + 60, height);
    for (int i = LOW; i <= HIGH; i++) {
        double x = x_of(exp2(i));
        fprintf(to, "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\" stroke=\"%s\"/>", x, x, TOP - 4, height,
                i ? "#ddd" : "#222");
        fprintf(to, "<text x=\"%.1f\" y=\"14\" text-anchor=\"middle\">%s%d</text>\n", x, i < 0 ? "1/" : "",
                1 << (i < 0 ? -i : i));
    }
    for (size_t i = 0; i < r->row_count; i++, y += GAP) {
        const row *row = &r->rows[i];
        fprintf(to, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s, %s</text>\n", LEFT - 8, y + peers * BAR / 2 + 4,
                row->kernel->name, row->size);
        for (int k = 0; k < PAIRINGS; k++) {
            const pairing *c = &suite_pairings[k];
            double ratio = suite_ratio(row, c, figure);
            if (!is_held(r, c))
                continue;
            y += BAR;
            if (ratio <= 0)
                continue;
            double from = fmin(x_of(1), x_of(ratio)), end = fmax(x_of(1), x_of(ratio));
            fprintf(to,
                    "<rect x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"%s\"><title>%s / %s: "
                    "%.2f</title></rect>\n",
                    from, y - BAR, fmax(end - from, 1), BAR - 1, colour_of(c), suite_runners[c->theirs]->title,
                    suite_runners[c->mine]->title, ratio);
        }
    }
    fputs("</svg>\n", to);
}

static void cell(FILE *to, const statistic *s, const char *problem) {
    if (s->samples) {
        fprintf(to, "<td title=\"min %.2f µs, spread %.0f %%, %d samples\">%.2f</td>", s->min * 1e6, s->spread * 100,
                s->samples, s->median * 1e6);
        return;
    }
    fputs("<td class=\"dim\" title=\"", to);
    text(to, problem);
    fprintf(to, "\">%s</td>", problem[0] ? "<span class=\"bad\">failed</span>" : "–");
}

static void ratio_cell(FILE *to, const row *row, int pairing, figure figure, double ratio) {
    const quartiles *q = &row->ratios[pairing];
    fprintf(to, "<td class=\"%s\"", ratio < 1 ? "bad" : "good");
    if (figure == FIGURE_REPEATED)
        fprintf(to, " title=\"quartiles %.3f and %.3f, %d runs in line\"", q->low, q->high, row->repeats);
    fprintf(to, ">%.2f</td>", ratio);
}

static void rows(FILE *to, const report *r, figure figure) {
    fprintf(to, "<h2>Times, by %s</h2>\n<table><tr><th>kernel</th><th>size</th><th>n</th>", figure_names[figure]);
    for (int v = 0; v < VERSION_COUNT; v++)
        if (is_shown(r, v))
            fprintf(to, "<th>%s, µs</th>", suite_runners[v]->title);
    for (int k = 0; k < PAIRINGS; k++)
        if (is_held(r, &suite_pairings[k]))
            fprintf(to, "<th>%s / %s</th>", suite_runners[suite_pairings[k].theirs]->title,
                    suite_runners[suite_pairings[k].mine]->title);
    fputs("</tr>\n", to);
    for (size_t i = 0; i < r->row_count; i++) {
        const row *row = &r->rows[i];
        fprintf(to, "<tr><td>%s</td><td>%s</td><td>%zu</td>", row->kernel->name, row->size, row->n);
        for (int v = 0; v < VERSION_COUNT; v++)
            if (is_shown(r, v))
                cell(to, suite_statistic_of(row, (version)v, figure), row->problems[v]);
        for (int k = 0; k < PAIRINGS; k++) {
            double ratio = suite_ratio(row, &suite_pairings[k], figure);
            if (!is_held(r, &suite_pairings[k]))
                continue;
            if (ratio > 0)
                ratio_cell(to, row, k, figure, ratio);
            else
                fputs("<td class=\"dim\">–</td>", to);
        }
        fputs("</tr>\n", to);
    }
    fputs("</table>\n", to);
}

static void extras(FILE *to, const report *r) {
    fputs("<h2>Dispatch, compiling, "
          "bandwidth</h2>\n<table><tr><th>what</th><th></th><th>median</th><th>best</th><th>in turns "
          "with another</th></tr>\n",
          to);
    for (size_t i = 0; i < r->extra_count; i++) {
        const extra *e = &r->extras[i];
        int is_time = strcmp(e->unit, "s") == 0;
        double factor = is_time ? 1e6 : 1, best = is_time ? e->value.min : fmax(e->value.median, e->value.min);
        char against[256];
        suite_say_against(e, "µs", against, sizeof against);
        fprintf(to,
                "<tr><td>%s</td><td style=\"text-align:left\">%s</td><td>%.3f %s</td><td>%.3f</td>"
                "<td style=\"text-align:left\">%s</td></tr>\n",
                e->group, e->name, e->value.median * factor, is_time ? "µs" : e->unit, best * factor, against);
    }
    fputs("</table>\n", to);
}

/* ---- timelines ---- */

static int is_first_of(const report *r, size_t i, int by_lane) {
    const span *s = &r->spans[i];
    for (size_t k = 0; k < i; k++)
        if (strcmp(r->spans[k].picture, s->picture) == 0 && (!by_lane || strcmp(r->spans[k].lane, s->lane) == 0))
            return 0;
    return 1;
}

/* One picture: a lane per name, spans as bars. */
static void timeline(FILE *to, const report *r, const char *picture) {
    double end = 0;
    int lanes = 0, y = TOP;
    for (size_t i = 0; i < r->span_count; i++)
        if (strcmp(r->spans[i].picture, picture) == 0) {
            end = fmax(end, r->spans[i].end);
            lanes += is_first_of(r, i, 1);
        }
    fprintf(to, "<h2>%s</h2>\n<svg viewBox=\"0 0 %d %d\" width=\"100%%\" role=\"img\">\n", picture, LEFT + WIDTH + 60,
            TOP + lanes * 2 * LANE);
    fprintf(to, "<text x=\"%d\" y=\"14\" text-anchor=\"end\">%.1f ms</text>\n", LEFT + WIDTH, end * 1e3);
    for (size_t i = 0; i < r->span_count; i++) {
        if (strcmp(r->spans[i].picture, picture) != 0 || !is_first_of(r, i, 1))
            continue;
        fprintf(to, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>\n", LEFT - 8, y + LANE - 3,
                r->spans[i].lane);
        for (size_t k = i; k < r->span_count; k++) {
            const span *s = &r->spans[k];
            if (strcmp(s->picture, picture) != 0 || strcmp(s->lane, r->spans[i].lane) != 0)
                continue;
            fprintf(
                to,
                "<rect x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"%s\" stroke=\"#fff\"><title>%s: %.3f to "
                "%.3f ms</title></rect>\n",
                LEFT + s->start / end * WIDTH, y, fmax((s->end - s->start) / end * WIDTH, 1), LANE,
                colours[1 + k % (VERSION_COUNT - 1)], s->name, s->start * 1e3, s->end * 1e3);
        }
        y += 2 * LANE;
    }
    fputs("</svg>\n", to);
}

static int is_measured(const report *r, figure figure) {
    for (size_t i = 0; i < r->row_count; i++)
        if (suite_statistic_of(&r->rows[i], VERSION_OURS, figure)->samples)
            return 1;
    return 0;
}

int suite_write_html(const report *r, const char *path) {
    FILE *to = fopen(path, "w");
    if (!to)
        return 0;
    head(to, r);
    if (is_measured(r, FIGURE_REPEATED)) {
        means(to, r, FIGURE_REPEATED);
        picture(to, r, FIGURE_REPEATED);
        rows(to, r, FIGURE_REPEATED);
    }
    if (is_measured(r, FIGURE_DEVICE)) {
        means(to, r, FIGURE_DEVICE);
        rows(to, r, FIGURE_DEVICE);
    }
    means(to, r, FIGURE_MEDIAN);
    means(to, r, FIGURE_BEST);
    picture(to, r, FIGURE_MEDIAN);
    rows(to, r, FIGURE_MEDIAN);
    extras(to, r);
    for (size_t i = 0; i < r->span_count; i++)
        if (is_first_of(r, i, 0))
            timeline(to, r, r->spans[i].picture);
    if (r->anchors[0]) {
        fputs("<h2>Anchors</h2>\n<pre>", to);
        text(to, r->anchors);
        fputs("</pre>\n", to);
    }
    fputs("</body></html>\n", to);
    return fclose(to) == 0;
}
