/* Grid tiling: makes a program that can be launched over a part of its grid and behaves as if the whole grid were
 * launched. So a grid beyond the limits of a device runs as several launches, in any order.
 *
 * Six hidden params follow the params of the program: the start of the tile and the size of the whole grid, in
 * workgroups. Group ids, global ids and grid sizes are computed from them; nothing else depends on the grid
 * (docs/internals/split.md). */
#ifndef VY_SPLIT_GRID_TILE_H
#define VY_SPLIT_GRID_TILE_H

#include "vyre/dispatch.h"

enum { VY_GRID_TILE_PARAMS = 6 };

/* The program for tiles. Calls are inlined first. It has the params of the program and then the hidden ones, its
 * buffers, its workgroup size, and no grid. A `write` buffer is declared read_write, because several launches write
 * it: bind it as zeros, or as the bytes of a resident buffer. The time is proportional to the size of the program.
 *
 * VYRE_INVALID_ARGUMENT  a library has no entry to launch; or the program has a grid barrier, which cannot synchronise
 *                        tiles: split it first
 * VYRE_LIMIT             the program with the added code exceeds a limit: params, statements
 * VYRE_NO_MEMORY         out of memory */
vyre_status vy_grid_tile(const vyre_program *program, vyre_program **out, vyre_error *error);

/* The tiles of a grid, x fastest. No tile is larger than `most` in a dimension, which is at least 1. */
typedef struct vy_grid_tiles {
    uint32_t whole[3], most;
    uint32_t base[3], size[3]; /* the tile, in workgroups */
} vy_grid_tiles;
/* The first tile; no dimension of the grid may be 0. */
vy_grid_tiles vy_grid_tiles_start(const uint32_t groups[3], uint64_t most);
/* Advances to the next tile; returns 0 if there is none. */
int vy_grid_tiles_next(vy_grid_tiles *pieces);
/* The hidden params of the tile. */
void vy_grid_tile_params(const vy_grid_tiles *pieces, vyre_scalar params[VY_GRID_TILE_PARAMS]);
/* The linear id in the whole grid of an invocation with this linear id in the tile. Keeps their order. */
uint64_t vy_grid_tile_invocation(const vy_grid_tiles *pieces, uint32_t group_size, uint64_t invocation);

#endif
