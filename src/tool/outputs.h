/* Outputs of a run: printed as tables, hex dumps or JSON, or written to files (--out NAME=FILE, --shape NAME=…). */
#ifndef TOOL_OUTPUTS_H
#define TOOL_OUTPUTS_H

#include "tool/args.h"
#include "vyre/dispatch.h"
#include "vyre/type.h"

/* ---- files ---- */

/* Checks --out and --shape against the program, before the run, so that a typing error does not waste a run. */
int tool_outputs_check(const tool_command *command, const vyre_program *program, const tool_list *outs,
                       const tool_list *shapes);
/* Checks, also before the run, that the shapes have as many elements as the outputs will have. */
int tool_outputs_compare(const tool_command *command, const vyre_program *program, const tool_list *shapes,
                         const vyre_arguments *arguments);
/* Checks that the files of --out can be written, without modifying them. */
int tool_outputs_check_write(const tool_list *outs);
/* Writes every output that --out names to its files. The suffix selects the format: .npy, .png, .ppm, .pgm; raw bytes
 * for .bin, .raw and no suffix. */
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

/* Adds a heading and rows of values, each with the index of its first element. If there are more rows than `limit` (0 =
 * no limit), rows in the middle are omitted, and the minimum, the maximum and the digest of all bytes are added. */
void tool_print_buffer_values(vy_string *out, const tool_buffer_view *buffer, uint64_t limit);
/* Adds a hex dump, 16 bytes per row, shortened likewise. */
void tool_print_buffer_hex(vy_string *out, const tool_buffer_view *buffer, uint64_t limit);
/* Adds {"name":…,"type":…,"count":…,"digest":…,"values":[…]}; with hex, values are strings of their bits. */
void tool_print_buffer_json(vy_string *out, const tool_buffer_view *buffer, int hex);

#endif
