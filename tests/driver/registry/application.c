/* A program with its own records, for tests/driver/registry/links: prints the missing records, or "all records are
 * seen". One file of records (application_records.c) is linked without any reference to it.
 *
 * usage: application PLUGIN */
#include "vyre/vyre.h" /* all of it: the names of a module and of a file of text live side by side */

#include <stdio.h>
#include <string.h>

static vyre_status create(const vyre_host *host, uint32_t ordinal, vyre_backend_instance *out, vyre_error *error) {
    (void)ordinal, (void)out;
    return host->fail(error, VYRE_UNSUPPORTED, NULL, "not for use");
}

VYRE_REGISTER_BACKEND(here, .id = "app-here", .create = create);
VYRE_REGISTER_PRECEDENCE(here, .id = "app-here", .rank = 5);
VYRE_REGISTER_CAPABILITY(here, .id = "app-here", .dispatches = 1);
VYRE_MODULE("application");

static int expect(const char *id, uint32_t rank, int dispatches, const char *owner) {
    const char *real = vyre_backend_owner(id);
    int good = vyre_backend_find(id) && vyre_backend_precedence(id) == rank &&
               vyre_backend_dispatches(id) == dispatches && real && strcmp(real, owner) == 0;
    if (!good)
        printf("%s is not as it should be (rank %u, dispatches %d, owner %s)\n", id,
               (unsigned)vyre_backend_precedence(id), vyre_backend_dispatches(id), real ? real : "none");
    return good;
}

int main(int count, char **arguments) {
    vyre_error error = VYRE_ERROR_INIT;
    if (count != 2 || vyre_module_register(&vyre_this_module, &error) != VYRE_OK ||
        vyre_plugin_load(arguments[1], &error) != VYRE_OK) {
        printf("%s\n", count != 2 ? "name a plug-in" : error.message);
        return 1;
    }
    size_t libvyre_count = 0, all;
    const vyre_backend_registration *const *list = vyre_backends(&all);
    for (size_t i = 0; i < all; i++)
        libvyre_count += strcmp(vyre_backend_owner(list[i]->id), "libvyre") == 0;
    int good = expect("app-here", 5, 1, "application") & expect("app-there", 6, 1, "application") &
               expect("fake-good", 70, 1, arguments[1]);
    if (!libvyre_count || !vyre_backend_find("reference"))
        printf("libvyre's own records are missing\n");
    else if (all != libvyre_count + 3)
        printf("%zu backends instead of %zu\n", all, libvyre_count + 3);
    else if (good)
        return puts("all records are seen"), 0;
    return 1;
}
