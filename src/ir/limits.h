/* Limits of the language. They bound memory, recursion and time for untrusted programs and far exceed those of
 * hand-written ones. The validator, the parser and the decoder use the same numbers. */
#ifndef VY_IR_LIMITS_H
#define VY_IR_LIMITS_H

enum {
    VY_LIMIT_NAME = 128,             /* bytes in a name or op id */
    VY_LIMIT_STRING = 4096,          /* bytes in a print format */
    VY_LIMIT_EXPRESSION_DEPTH = 512, /* operators on one path: bounds every recursion over expressions */
    VY_LIMIT_NESTING = 128,          /* blocks inside blocks: bounds every recursion over statements */
    VY_LIMIT_CALL_DEPTH = 64,
    VY_LIMIT_PARAMS = 255,  /* scalar params of a program, all parameters of a function */
    VY_LIMIT_BUFFERS = 255, /* bindings of a program */
    VY_LIMIT_ARRAYS = 255,  /* arrays of a program or function */
    VY_LIMIT_RESULTS = 16,  /* of a function */
    VY_LIMIT_WIDE = 16,     /* elements, and bytes, of one wide access */
    VY_LIMIT_FUNCTIONS = 4096,
    VY_LIMIT_PROGRAMS = 4096,       /* in a text */
    VY_LIMIT_STATEMENTS = 1 << 20,  /* in a program, before and after inlining; in a text, with its declarations */
    VY_LIMIT_EXPRESSIONS = 1 << 22, /* likewise */
    VY_LIMIT_WORKGROUP = 1024,      /* invocations of a workgroup */
    VY_LIMIT_WORKGROUP_BYTES = 1 << 20,
    VY_LIMIT_PRIVATE_BYTES = 1 << 16, /* of one invocation */
    VY_LIMIT_SOURCE_BYTES = 1 << 28,  /* of a text file */
    VY_LIMIT_WIRE_BYTES = 1 << 28
};

#endif
