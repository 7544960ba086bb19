/* Asynchronous dispatch in an event loop: the completion queue has a descriptor for poll, epoll or libuv.
 *
 *   cc event_loop.c $(pkg-config --cflags --libs vyre) && ./a.out */
#include <vyre/vyre.h>

#include <poll.h>
#include <stdio.h>
#include <string.h>

enum { DISPATCHES = 8 };

static const char text[] = "program scale {\n"
                           "  param a : u32\n"
                           "  buffer x : u32 read_write\n"
                           "  workgroup 64\n"
                           "  grid over x\n"
                           "\n"
                           "  let i = global_id.x\n"
                           "  x[i] = int.multiply_saturate_u32(x[i], a)\n" /* of the standard library */
                           "}\n";

/* Starts one dispatch; the queue announces it by its tag when it is done. */
static vyre_status start(vyre_pipeline *pipeline, vyre_completions *queue, uint32_t number, vyre_error *error) {
    const uint32_t x[] = {1, 2, 3}; /* lent for the call only */
    const vyre_scalar a = vyre_scalar_u32(number);
    const vyre_span input = {x, sizeof x};
    const vyre_arguments arguments = {.params = &a, .param_count = 1, .inputs = &input, .input_count = 1};
    const vyre_dispatch_config config = {.timeout_ns = 10000000000u};
    vyre_pending *pending;
    vyre_status status = vyre_pipeline_dispatch_async(pipeline, &arguments, &config, &pending, error);
    if (status != VYRE_OK)
        return status;
    status = vyre_completions_attach(queue, pending, number, error);
    if (status != VYRE_OK)
        vyre_pending_free(pending);
    return status;
}

/* Collects everything that is done. Returns VYRE_NOT_READY when the queue is empty for now. */
static vyre_status collect(vyre_completions *queue, uint32_t *sum, unsigned *done, vyre_error *error) {
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    vyre_status status = VYRE_OK;
    while (status == VYRE_OK && *done < DISPATCHES) {
        vyre_pending *pending;
        uint64_t tag;
        status = vyre_completions_next(queue, 0, &pending, &tag, error);
        if (status != VYRE_OK)
            break;
        status = vyre_pending_wait(pending, 0, &outputs, NULL, error); /* does not block: it is done */
        if (status == VYRE_OK)
            *sum += ((const uint32_t *)outputs.items[0].data)[2];
        vyre_pending_free(pending);
        *done += 1;
    }
    vyre_outputs_free(&outputs);
    return status;
}

int main(void) {
    vyre_policy policy = VYRE_POLICY_DEFAULT;
    vyre_module *module = NULL;
    vyre_backend *backend = NULL;
    vyre_pipeline *pipeline = NULL;
    vyre_completions *queue = NULL;
    uint32_t sum = 0;
    unsigned done = 0;
    vyre_error error;
    char message[1200];

    vyre_status status = vyre_text_parse(text, strlen(text), NULL, NULL, &module, &error);
    if (status == VYRE_OK)
        status = vyre_select(&policy, &backend, NULL, &error);
    if (status == VYRE_OK)
        status = vyre_compile(backend, vyre_module_program(module, 0), NULL, &pipeline, &error);
    if (status == VYRE_OK)
        status = vyre_completions_new(&queue, &error);
    for (uint32_t i = 1; i <= DISPATCHES && status == VYRE_OK; i++)
        status = start(pipeline, queue, i, &error);
    while (done < DISPATCHES && status == VYRE_OK) {
        struct pollfd watched = {.fd = vyre_completions_fd(queue), .events = POLLIN};
        if (poll(&watched, 1, -1) > 0) /* an application polls its other descriptors here too */
            status = collect(queue, &sum, &done, &error);
        if (status == VYRE_NOT_READY)
            status = VYRE_OK;
    }
    if (status == VYRE_OK) {
        printf("%u\n", sum); /* 3 * (1 + … + 8) */
    } else {
        vyre_error_format(&error, message, sizeof message);
        fputs(message, stderr);
    }
    vyre_completions_free(queue);
    vyre_pipeline_release(pipeline);
    vyre_backend_release(backend);
    vyre_module_free(module);
    return status != VYRE_OK;
}
