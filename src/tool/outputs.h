/* Where the outputs of a run go: --out NAME=FILE with --shape NAME=… */
#ifndef TOOL_OUTPUTS_H
#define TOOL_OUTPUTS_H

#include "tool/args.h"
#include "vyre/dispatch.h"

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

#endif
