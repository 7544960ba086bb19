/* Files, the clock, and statistics of samples. */
#include "suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

double suite_now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static int compare(const void *a, const void *b) {
    return *(const double *)a < *(const double *)b ? -1 : *(const double *)a > *(const double *)b;
}

statistic suite_statistic(double *times, int count) {
    qsort(times, (size_t)count, sizeof *times, compare);
    statistic s = {.samples = count};
    if (count > 0) {
        s.median = times[count / 2];
        s.min = times[0];
        s.spread = s.median > 0 ? (times[count * 3 / 4] - times[count / 4]) / s.median : 0;
    }
    return s;
}

quartiles suite_quartiles(double *values, int count) {
    qsort(values, (size_t)count, sizeof *values, compare);
    return count > 0 ? (quartiles){values[count / 4], values[count / 2], values[count * 3 / 4]} : (quartiles){0, 0, 0};
}

int suite_is_busy(const report *r) {
    return r->load > 0.5 && r->load > 0.1 * r->cores;
}

const statistic *suite_statistic_of(const row *row, version v, figure figure) {
    return figure == FIGURE_REPEATED ? &row->repeated[v] : figure == FIGURE_DEVICE ? &row->device[v] : &row->times[v];
}

double suite_figure(const row *row, version v, figure figure) {
    const statistic *s = suite_statistic_of(row, v, figure);
    return !s->samples ? 0 : figure == FIGURE_BEST ? s->min : s->median;
}

double suite_ratio(const row *row, const pairing *c, figure figure) {
    if (figure == FIGURE_REPEATED)
        return row->ratios[c - suite_pairings].median;
    double theirs = suite_figure(row, c->theirs, figure), mine = suite_figure(row, c->mine, figure);
    return theirs > 0 && mine > 0 ? theirs / mine : 0;
}

double suite_geometric_mean(const report *r, const pairing *c, const char *size, figure figure, size_t *count) {
    double sum = 0;
    *count = 0;
    for (size_t i = 0; i < r->row_count; i++) {
        const row *row = &r->rows[i];
        double ratio = suite_ratio(row, c, figure);
        if (ratio <= 0 || (size && strcmp(size, row->size) != 0))
            continue;
        sum += log(ratio);
        ++*count;
    }
    return *count ? exp(sum / (double)*count) : 0;
}

char *suite_read_file(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    *size = 0;
    if (!file)
        return NULL;
    fseek(file, 0, SEEK_END);
    long length = ftell(file);
    rewind(file);
    if (length >= 0 && (text = malloc((size_t)length + 1))) {
        *size = fread(text, 1, (size_t)length, file);
        text[*size] = 0;
    }
    fclose(file);
    return text;
}

const char *suite_source_path(const char *path) {
    static char buffer[4096];
    const char *folder = getenv("VYRE_SOURCE_DIR");
    snprintf(buffer, sizeof buffer, "%s/%s", folder ? folder : VYRE_SOURCE_DIR, path);
    return buffer;
}

const char *suite_built_path(const char *path) {
    static char buffer[4096];
    ssize_t length = readlink("/proc/self/exe", buffer, sizeof buffer - 256);
    buffer[length > 0 ? length : 0] = 0;
    char *slash = strrchr(buffer, '/');
    slash = slash ? slash + 1 : buffer;
    snprintf(slash, sizeof buffer - (size_t)(slash - buffer), "%s", path);
    return buffer;
}
