/* Outputs of a run: printed as tables, hex dumps or JSON, or written to files (--out NAME=FILE with --shape NAME=…). */
#ifndef TOOL_OUTPUTS_H
#define TOOL_OUTPUTS_H

#include "tool/args.h"
#include "vyre/dispatch.h"
#include "vyre/type.h"

/* ---- files ---- */

/* Checks --out and --shape words against the program before it runs, so that no run is lost to a typo. */
int tool_outputs_check(const tool_command *command, const vyre_program *program, const tool_list *outs,
                       const tool_list *shapes);
/* Checks that the shapes hold as many elements as the outputs will have, again before the run. */
int tool_outputs_compare(const tool_command *command, const vyre_program *program, const tool_list *shapes,
                         const vyre_arguments *arguments);
/* Checks that the files of --out can be written, without changing them. */
int tool_outputs_check_write(const tool_list *outs);
/* Writes every output that --out names, to all its files. The ending of the file decides: .npy, .png, .ppm, .pgm; .bin, .raw and no ending: the raw
 * bytes. */
int tool_outputs_write(const vyre_program *program, const tool_list *outs, const tool_list *shapes,
                       const vyre_bytes *outputs);
/* The first file that --out names for a buffer, or NULL. */
const char *tool_outputs_file(const tool_list *outs, const char *name);

/* ---- printing ---- */

typedef struct tool_buffer_view {
    const char *name;
    vyre_type type;
    const void *data;
    size_t size;
} tool_buffer_view;

/* Adds a heading and rows of values, each row with the index of its first element. More rows than `limit` (0 = no limit) are cut in the
 * middle, and then smallest and largest value and the digest of all bytes are added. */
void tool_print_buffer_values(vy_string *out, const tool_buffer_view *buffer, uint64_t limit);
/* Adds the bytes, 16 a row, cut likewise. */
void tool_print_buffer_hex(vy_string *out, const tool_buffer_view *buffer, uint64_t limit);
/* Adds {"name":…,"type":…,"count":…,"digest":…,"values":[…]}; with hex, values are strings of their bits. */
void tool_print_buffer_json(vy_string *out, const tool_buffer_view *buffer, int hex);

#endif
