/* The results as one JSON document. Times are in seconds. */
#include "suite.h"

#include <stdio.h>

static void string(FILE *to, const char *text) {
    fputc('"', to);
    for (; *text; text++)
        if (*text == '"' || *text == '\\')
            fprintf(to, "\\%c", *text);
        else if ((unsigned char)*text >= 0x20)
            fputc(*text, to);
        else
            fprintf(to, "\\u%04x", (unsigned)*text);
    fputc('"', to);
}

static void field(FILE *to, const char *name, const char *text, const char *end) {
    fprintf(to, "\"%s\": ", name);
    string(to, text);
    fputs(end, to);
}

static void figures(FILE *to, const statistic *s) {
    fprintf(to, "{\"median\": %.9g, \"min\": %.9g, \"spread\": %.4g, \"samples\": %d}", s->median, s->min, s->spread,
            s->samples);
}

static void paired(FILE *to, const char *name, const quartiles *q) {
    fprintf(to, ", \"%s\": {\"median\": %.9g, \"low\": %.9g, \"high\": %.9g}", name, q->median, q->low, q->high);
}

static void machine(FILE *to, const report *r) {
    field(to, "date", r->date, ", ");
    field(to, "commit", r->commit, ",\n ");
    field(to, "cpu", r->cpu, ", ");
    field(to, "system", r->host, ", ");
    fprintf(to, "\"cores\": %d, \"load\": %.2f, \"last_level_cache_bytes\": %llu, \"seconds\": %.1f,\n \"versions\": {",
            r->cores, r->load, (unsigned long long)r->last_cache, r->seconds);
    for (int v = 0; v < VERSION_COUNT; v++) {
        fprintf(to, "%s\n  \"%s\": {\"available\": %s, ", v ? "," : "", suite_runners[v]->id,
                r->missing[v][0] ? "false" : "true");
        field(to, r->missing[v][0] ? "reason" : "version", r->missing[v][0] ? r->missing[v] : r->versions[v], "}");
    }
    fputs("},\n ", to);
}

/* Of neighbouring repeated runs. */
static void ratios(FILE *to, const row *row) {
    int count = 0;
    for (int k = 0; k < PAIRINGS; k++) {
        char name[64];
        const pairing *c = &suite_pairings[k];
        if (row->ratios[k].median <= 0)
            continue;
        if (!count++)
            fprintf(to, ", \"ratios\": {\"repeats\": %d", row->repeats);
        snprintf(name, sizeof name, "%s over %s", suite_runners[c->theirs]->id, suite_runners[c->mine]->id);
        paired(to, name, &row->ratios[k]);
    }
    if (count)
        fputc('}', to);
}

static void rows(FILE *to, const report *r) {
    fputs("\"kernels\": [", to);
    for (size_t i = 0; i < r->row_count; i++) {
        const row *row = &r->rows[i];
        fprintf(to, "%s\n  {\"kernel\": \"%s\", \"size\": \"%s\", \"n\": %zu, \"bytes\": %.0f", i ? "," : "",
                row->kernel->name, row->size, row->n, row->bytes);
        for (int v = 0; v < VERSION_COUNT; v++) {
            if (row->times[v].samples) {
                fprintf(to, ", \"%s\": ", suite_runners[v]->id);
                figures(to, &row->times[v]);
            }
            if (row->device[v].samples) {
                fprintf(to, ", \"%s_device\": ", suite_runners[v]->id);
                figures(to, &row->device[v]);
            }
            if (row->repeated[v].samples) {
                fprintf(to, ", \"%s_repeated\": ", suite_runners[v]->id);
                figures(to, &row->repeated[v]);
            }
            if (row->problems[v][0]) {
                fprintf(to, ", \"%s_problem\": ", suite_runners[v]->id);
                string(to, row->problems[v]);
            }
        }
        ratios(to, row);
        fputc('}', to);
    }
    fputs("],\n ", to);
}

static void means(FILE *to, const report *r) {
    static const char *const sizes[] = {NULL, "small", "medium", "large"};
    fputs("\"geometric_means\": {", to);
    for (int k = 0; k < PAIRINGS; k++) {
        const pairing *c = &suite_pairings[k];
        int is_ours = c->mine == VERSION_OURS;
        fprintf(to, "%s\n  \"%s%s%s\": {", k ? "," : "", suite_runners[c->theirs]->id, is_ours ? "" : " over ",
                is_ours ? "" : suite_runners[c->mine]->id);
        for (int i = 0; i < 4; i++) {
            size_t count;
            double mean = suite_geometric_mean(r, c, sizes[i], FIGURE_MEDIAN, &count);
            double best = suite_geometric_mean(r, c, sizes[i], FIGURE_BEST, &count);
            fprintf(to, "%s\"%s\": {\"speed_up\": %.4g, \"by_best\": %.4g, \"rows\": %zu", i ? ", " : "",
                    sizes[i] ? sizes[i] : "all", mean, best, count);
            mean = suite_geometric_mean(r, c, sizes[i], FIGURE_DEVICE, &count);
            if (count)
                fprintf(to, ", \"by_device\": %.4g", mean);
            mean = suite_geometric_mean(r, c, sizes[i], FIGURE_REPEATED, &count);
            if (count)
                fprintf(to, ", \"by_repeated\": %.4g", mean);
            fputc('}', to);
        }
        fputc('}', to);
    }
    fputs("},\n ", to);
}

static void spans(FILE *to, const report *r) {
    fputs(",\n \"timelines\": [", to);
    for (size_t i = 0; i < r->span_count; i++) {
        const span *s = &r->spans[i];
        fprintf(to, "%s\n  {\"picture\": \"%s\", \"lane\": \"%s\", \"name\": \"%s\", \"start\": %.9g, \"end\": %.9g}",
                i ? "," : "", s->picture, s->lane, s->name, s->start, s->end);
    }
    fputc(']', to);
}

int suite_write_json(const report *r, const char *path) {
    FILE *to = fopen(path, "w");
    if (!to)
        return 0;
    fputs("{\"bench\": \"suite\", ", to);
    machine(to, r);
    rows(to, r);
    means(to, r);
    fputs("\"extras\": [", to);
    for (size_t i = 0; i < r->extra_count; i++) {
        fprintf(to, "%s\n  {\"group\": \"%s\", \"name\": \"%s\", \"unit\": \"%s\", \"value\": ", i ? "," : "",
                r->extras[i].group, r->extras[i].name, r->extras[i].unit);
        figures(to, &r->extras[i].value);
        if (r->extras[i].against) {
            fputs(", ", to);
            field(to, "against", r->extras[i].against, "");
            paired(to, "adds", &r->extras[i].adds);
            paired(to, "ratio", &r->extras[i].ratio);
        }
        fputc('}', to);
    }
    fputc(']', to);
    if (r->span_count)
        spans(to, r);
    if (r->anchors[0]) {
        fputs(",\n \"anchors\": ", to);
        string(to, r->anchors);
    }
    fputs("}\n", to);
    return fclose(to) == 0;
}
