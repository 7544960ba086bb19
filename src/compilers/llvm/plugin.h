/* What the plug-in exports: the function whose name is VY_JIT_PLUGIN_SYMBOL. */
#ifndef VY_COMPILERS_LLVM_PLUGIN_H
#define VY_COMPILERS_LLVM_PLUGIN_H

#include "backends/cpu/compiler.h"

VYRE_API vy_jit_plugin_get vyre_compiler_get;

#endif
