/* Grid tiling: makes a program that can be launched over a part of its grid and behaves as if the whole grid were
 * launched. So a grid beyond the limits of a device runs as several launches, in any order.
 *
 * The program gets six hidden params after its own: where the tile starts, and the size of the whole grid, in
 * workgroups. Group ids, global ids and grid sizes are computed from them; nothing else depends on the grid
 * (docs/internals/transform.md). */
#ifndef VY_SPLIT_GRID_TILE_H
#define VY_SPLIT_GRID_TILE_H

#include "vyre/dispatch.h"

enum { VY_GRID_TILE_PARAMS = 6 };

/* The program for pieces. Calls are inlined first. It has the params of the program and then the hidden ones, its
 * buffers, its workgroup size, and no grid of its own. A `write` buffer is declared read_write, because several
 * launches write it: bind it as zeros, or as the bytes of a resident buffer. Blocks for time in the order of the
 * program's size.
 *
 * VYRE_INVALID_ARGUMENT  a library has nothing to launch; a grid barrier does not meet the other pieces: split first
 * VYRE_LIMIT             the program and what is added are over a limit: params, statements
 * VYRE_NO_MEMORY */
vyre_status vy_grid_tile(const vyre_program *program, vyre_program **out, vyre_error *error);

/* The pieces of a grid, x fastest; no piece is larger than `most` in a dimension, which is at least 1. */
typedef struct vy_grid_tiles {
    uint32_t whole[3], most;
    uint32_t base[3], size[3]; /* the piece, in workgroups */
} vy_grid_tiles;
/* The first piece; no dimension of the grid may be 0. */
vy_grid_tiles vy_grid_tiles_start(const uint32_t groups[3], uint64_t most);
/* The next one; 0 if there is none. */
int vy_grid_tiles_next(vy_grid_tiles *pieces);
/* The hidden params of the piece. */
void vy_grid_tile_params(const vy_grid_tiles *pieces, vyre_scalar params[VY_GRID_TILE_PARAMS]);
/* The linear id in the whole grid of an invocation with this linear id in the piece. Keeps their order. */
uint64_t vy_grid_tile_invocation(const vy_grid_tiles *pieces, uint32_t group_size, uint64_t invocation);

#endif
