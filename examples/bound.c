/* A kernel in a C program, through the header that `vyre bind examples/saxpy.vyre` makes: typed, and no file to find at
 * run time. */
#include "saxpy.h"

#include <stdio.h>

int main(void) {
    float x[] = {1, 2, 3}, y[] = {10, 20, 30};
    saxpy_arguments arguments = {.a = 2.0f, .x = x, .x_count = 3, .y = y, .y_count = 3};
    saxpy_kernel kernel = {NULL};
    vyre_error error;
    char text[1200];

    vyre_status status = saxpy_open(&kernel, NULL, &error);
    if (status == VYRE_OK)
        status = saxpy_run(&kernel, &arguments, NULL, NULL, &error);
    if (status == VYRE_OK) {
        printf("%g %g %g on %s\n", y[0], y[1], y[2], saxpy_backend_id(&kernel));
    } else {
        vyre_error_format(&error, text, sizeof text);
        fputs(text, stderr);
    }
    saxpy_close(&kernel);
    return status != VYRE_OK;
}
