/* The OpenCL device: enumeration, its properties, its context and the loss of it, and the backend's function table
 * (opencl.h). */
#include "backends/opencl/executable.h"
#include "backends/opencl/launch.h"
#include "backends/opencl/memory.h"
#include "backends/opencl/opencl.h"
#include "base/file.h"
#include "base/status.h"
#include "driver/registry.h"
#include "ir/model.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- queries ---- */

static uint64_t query(const vy_ocl_dynamic_symbols *api, vy_cl_device device, uint32_t what) {
    uint64_t value = 0; /* little-endian: a shorter value fills the lower bytes */
    return api->device_info(device, what, sizeof value, &value, NULL) == VY_CL_OK ? value : 0;
}

/* Truncated to the room; "" if the query fails. */
static void query_text(const vy_ocl_dynamic_symbols *api, vy_cl_device device, uint32_t what, char *text, size_t room) {
    char whole[16384] = "";
    if (api->device_info(device, what, sizeof whole - 1, whole, NULL) != VY_CL_OK)
        whole[0] = 0;
    whole[sizeof whole - 1] = 0;
    const char *start = whole + strspn(whole, " ");
    snprintf(text, room, "%.*s", (int)(room - 1), start);
}

static int has_word(const char *list, const char *word) {
    size_t length = strlen(word);
    for (const char *at = strstr(list, word); at; at = strstr(at + 1, word))
        if ((at == list || at[-1] == ' ') && (at[length] == ' ' || !at[length]))
            return 1;
    return 0;
}

/* "OpenCL 3.0 …" is 30, "OpenCL C 1.2 …" 12. */
static uint32_t read_version(const char *text) {
    const char *digit = strpbrk(text, "0123456789");
    return digit && digit[1] == '.' && digit[2] >= '0' && digit[2] <= '9'
               ? (uint32_t)(digit[0] - '0') * 10 + (uint32_t)(digit[2] - '0')
               : 0;
}

static void query_place(const vy_ocl_dynamic_symbols *api, const char *extensions, vy_ocl_device_info *out) {
    if (has_word(extensions, "cl_khr_device_uuid"))
        out->has_uuid = api->device_info(out->device, VY_CL_DEVICE_UUID, sizeof out->uuid, out->uuid, NULL) == VY_CL_OK;
    if (has_word(extensions, "cl_khr_pci_bus_info"))
        out->has_pci = api->device_info(out->device, VY_CL_DEVICE_PCI_BUS, sizeof out->pci, out->pci, NULL) == VY_CL_OK;
    if (!out->has_pci && has_word(extensions, "cl_nv_device_attribute_query")) {
        uint32_t slot = (uint32_t)query(api, out->device, VY_CL_DEVICE_NV_PCI_SLOT);
        out->has_pci = 1;
        out->pci[0] = (uint32_t)query(api, out->device, VY_CL_DEVICE_NV_PCI_DOMAIN);
        out->pci[1] = (uint32_t)query(api, out->device, VY_CL_DEVICE_NV_PCI_BUS);
        out->pci[2] = slot >> 3, out->pci[3] = slot & 7;
    }
}

/* The newest version of OpenCL C: 120, 200, 300. */
static uint32_t query_c_version(const vy_ocl_dynamic_symbols *api, const vy_ocl_device_info *info) {
    struct {
        uint32_t version; /* 10 bits of a major number, 10 of a minor one, 12 of a patch */
        char name[64];
    } all[32];
    char text[128];
    size_t size = 0;
    query_text(api, info->device, VY_CL_DEVICE_C_VERSION, text, sizeof text);
    uint32_t newest = 10 * read_version(text);
    if (info->version >= 30 &&
        api->device_info(info->device, VY_CL_DEVICE_C_VERSIONS, sizeof all, all, &size) == VY_CL_OK)
        for (size_t i = 0; i < size / sizeof *all; i++) {
            uint32_t version = 100 * (all[i].version >> 22) + 10 * (all[i].version >> 12 & 0x3ff);
            newest = version > newest ? version : newest;
        }
    return newest;
}

static void query_features(const vy_ocl_dynamic_symbols *api, const char *extensions, vy_ocl_device_info *out) {
    const uint64_t ordered = VY_CL_ATOMIC_ORDER_ACQ_REL | VY_CL_ATOMIC_SCOPE_DEVICE;
    out->c_version = query_c_version(api, out);
    out->has_fp64 = has_word(extensions, "cl_khr_fp64");
    out->has_int64_atomics =
        has_word(extensions, "cl_khr_int64_base_atomics") && has_word(extensions, "cl_khr_int64_extended_atomics");
    out->has_ordered_atomics = out->c_version >= 300
                                   ? (query(api, out->device, VY_CL_DEVICE_ATOMIC_MEMORY) & ordered) == ordered
                                   : out->c_version >= 200;
    out->single_config = query(api, out->device, VY_CL_DEVICE_SINGLE_CONFIG);
}

static void query_sizes(const vy_ocl_dynamic_symbols *api, vy_ocl_device_info *out) {
    size_t groups[3] = {1, 1, 1};
    if (api->device_info(out->device, VY_CL_DEVICE_MAX_GROUP_SIZES, sizeof groups, groups, NULL) != VY_CL_OK)
        groups[0] = groups[1] = groups[2] = 1; /* a device with more than three dimensions does not answer here */
    for (int d = 0; d < 3; d++)
        out->groups[d] = groups[d] < VY_LIMIT_WORKGROUP ? (uint32_t)groups[d] : VY_LIMIT_WORKGROUP;
    uint64_t invocations = query(api, out->device, VY_CL_DEVICE_MAX_GROUP);
    out->invocations = invocations < VY_LIMIT_WORKGROUP ? (uint32_t)invocations : VY_LIMIT_WORKGROUP;
    out->compute_units = (uint32_t)query(api, out->device, VY_CL_DEVICE_COMPUTE_UNITS);
    out->address_bits = (uint32_t)query(api, out->device, VY_CL_DEVICE_ADDRESS_BITS);
    out->memory_bytes = query(api, out->device, VY_CL_DEVICE_MEMORY_BYTES);
    out->max_allocation = query(api, out->device, VY_CL_DEVICE_MAX_ALLOCATION);
    out->local_bytes = query(api, out->device, VY_CL_DEVICE_LOCAL_BYTES);
    out->constant_bytes = query(api, out->device, VY_CL_DEVICE_CONSTANT_BYTES);
    out->cache_bytes = query(api, out->device, VY_CL_DEVICE_CACHE_BYTES);
    out->is_unified = query(api, out->device, VY_CL_DEVICE_UNIFIED_MEMORY) != 0;
}

static const char *find_refusal(const vy_ocl_dynamic_symbols *api, const vy_ocl_device_info *info) {
    char profile[64];
    query_text(api, info->device, VY_CL_DEVICE_PROFILE, profile, sizeof profile);
    return info->version < 12                                               ? "it is older than OpenCL 1.2"
           : strcmp(profile, "FULL_PROFILE") != 0                           ? "it has the embedded profile only"
           : !(uint8_t)query(api, info->device, VY_CL_DEVICE_LITTLE_ENDIAN) ? "it is big-endian"
           : info->address_bits != 64                                       ? "its addresses do not have 64 bits"
           : !(uint8_t)query(api, info->device, VY_CL_DEVICE_COMPILER)      ? "its driver has no compiler"
           : !(uint8_t)query(api, info->device, VY_CL_DEVICE_AVAILABLE)     ? "its driver says that it is not available"
           : !(info->single_config & VY_CL_FP_NEAREST)                      ? "it does not round to nearest"
                                                                            : "";
}

static void query_device(const vy_ocl_dynamic_symbols *api, vy_cl_platform platform, vy_cl_device device,
                         vy_ocl_device_info *out) {
    char driver[128], version[128], extensions[16384];
    memset(out, 0, sizeof *out);
    out->platform = platform, out->device = device;
    out->device_class = query(api, device, VY_CL_DEVICE_TYPE) & VY_CL_TYPE_CPU ? VYRE_DEVICE_SOFTWARE : VYRE_DEVICE_GPU;
    out->vendor = (uint32_t)query(api, device, VY_CL_DEVICE_VENDOR_ID);
    if (api->platform_info(platform, VY_CL_PLATFORM_NAME, sizeof out->platform_name - 1, out->platform_name, NULL))
        snprintf(out->platform_name, sizeof out->platform_name, "an OpenCL platform");
    query_text(api, device, VY_CL_DEVICE_NAME, out->name, sizeof out->name);
    query_text(api, device, VY_CL_DRIVER_VERSION, driver, sizeof driver);
    query_text(api, device, VY_CL_DEVICE_VERSION, version, sizeof version);
    query_text(api, device, VY_CL_DEVICE_EXTENSIONS, extensions, sizeof extensions);
    out->version = read_version(version);
    query_sizes(api, out);
    query_features(api, extensions, out);
    query_place(api, extensions, out);
    snprintf(out->driver, sizeof out->driver, "%s %s, OpenCL %" PRIu32 ".%" PRIu32, out->platform_name, driver,
             out->version / 10, out->version % 10);
    snprintf(out->identity, sizeof out->identity, "%s on %s driver %s %s", out->name, out->platform_name, driver,
             version);
    snprintf(out->refusal, sizeof out->refusal, "%s", find_refusal(api, out));
}

/* ---- installation problems ---- */

#define VENDORS "/etc/OpenCL/vendors"

/* Whether the library that a file names loads. If not, `text` has the reason. */
static int driver_loads(const char *path, char text[256]) {
    char line[256] = "";
    vyre_bytes bytes = VYRE_BYTES_INIT;
    if (vy_file_read_plain(path, 4096, &bytes, NULL) != VYRE_OK) {
        snprintf(text, 256, "%.160s cannot be read", path);
        return 0;
    }
    snprintf(line, sizeof line, "%.*s", (int)(bytes.size < 255 ? bytes.size : 255), (const char *)bytes.data);
    vyre_bytes_free(&bytes);
    line[strcspn(line, "\r\n")] = 0;
    void *library = *line ? dlopen(line, RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE) : NULL;
    if (!library) {
        const char *why = *line ? dlerror() : "it is empty";
        snprintf(text, 256, "%.80s names a library that does not load (%.110s)", path, why ? why : line);
        return 0;
    }
    dlclose(library);
    return 1;
}

/* Returns the number of files that name drivers: those of the folder, or the file itself. text: the problem of the
 * first driver that does not load, or "". */
static unsigned check_driver_files(const char *folder, char text[256]) {
    char path[512];
    unsigned count = 0;
    DIR *entries = opendir(folder);
    text[0] = 0;
    if (!entries && errno == ENOTDIR) {
        driver_loads(folder, text);
        return 1;
    }
    for (struct dirent *entry; entries && (entry = readdir(entries));) {
        size_t length = strlen(entry->d_name);
        if (length < 5 || strcmp(entry->d_name + length - 4, ".icd") != 0)
            continue;
        count++;
        snprintf(path, sizeof path, "%.250s/%.255s", folder, entry->d_name);
        if (!text[0])
            driver_loads(path, text);
    }
    if (entries)
        closedir(entries);
    return count;
}

static const char *vendors_folder(void) {
    const char *folder = secure_getenv("OCL_ICD_VENDORS");
    return folder && *folder == '/' ? folder : VENDORS;
}

static vyre_status fail_without_platform(int32_t result, vyre_error *error) {
    char text[256];
    const char *folder = vendors_folder();
    if (result != VY_CL_OK && result != VY_CL_NO_PLATFORM)
        return vy_ocl_fail_result(result, "looking for OpenCL platforms", error);
    unsigned count = check_driver_files(folder, text);
    if (!count)
        return vy_fail(error, VYRE_NOT_FOUND,
                       "install the OpenCL driver of your device, or PoCL for the processor (Debian: pocl-opencl-icd)",
                       "no OpenCL driver is installed: %.120s has no file that names one", folder);
    if (text[0])
        return vy_fail(error, VYRE_NOT_FOUND, "install that driver again, or remove the file", "%s", text);
    return vy_fail(error, VYRE_NOT_FOUND, "run as a user who may open the device; look at the driver's own log",
                   "%u OpenCL drivers are installed in %.120s, and none of them starts", count, folder);
}

/* ---- enumeration ---- */

static _Atomic long starter; /* the process that started the drivers; 0: none yet */

static int rank_of(const vy_ocl_device_info *info) {
    return info->refusal[0] ? 2 : info->device_class == VYRE_DEVICE_SOFTWARE;
}

/* A stable sort, so that the device numbers do not change. */
static void sort_devices(vy_ocl_device_info *items, uint32_t count) {
    for (uint32_t i = 1; i < count; i++)
        for (uint32_t k = i; k > 0 && rank_of(&items[k - 1]) > rank_of(&items[k]); k--) {
            vy_ocl_device_info moved = items[k];
            items[k] = items[k - 1];
            items[k - 1] = moved;
        }
}

typedef VY_VECTOR(vy_ocl_device_info) device_list;

enum { PLATFORMS = 32, DEVICES = 64 }; /* maximum number of platforms, and of devices per platform */

static vyre_status list_platform(const vy_ocl_dynamic_symbols *api, vy_cl_platform platform, device_list *list,
                                 char note[256], vyre_error *error) {
    vy_cl_device devices[DEVICES];
    char name[96] = "a platform";
    uint32_t count = 0;
    int32_t result = api->device_ids(platform, VY_CL_TYPE_ALL, DEVICES, devices, &count);
    api->platform_info(platform, VY_CL_PLATFORM_NAME, sizeof name - 1, name, NULL);
    if (result == VY_CL_DEVICE_NOT_FOUND || (result == VY_CL_OK && !count)) {
        snprintf(note, 256, "the OpenCL platform `%.90s` has no device", name);
        return VYRE_OK;
    }
    if (result != VY_CL_OK) {
        snprintf(note, 256, "the driver of the OpenCL platform `%.90s` does not start (result %d)", name, (int)result);
        return VYRE_OK;
    }
    for (uint32_t i = 0; i < count && i < DEVICES; i++) {
        if (!VY_RESERVE(list, 1))
            return vy_fail_memory(error, "listing OpenCL devices");
        query_device(api, platform, devices[i], &list->items[list->count++]);
    }
    return VYRE_OK;
}

vyre_status vy_ocl_devices_list(const vy_ocl_dynamic_symbols *api, vy_ocl_device_info **out, uint32_t *count,
                                char note[256], vyre_error *error) {
    vy_cl_platform platforms[PLATFORMS];
    device_list list = {NULL, 0, 0};
    uint32_t platform_count = 0;
    note[0] = 0;
    *out = NULL, *count = 0;
    vyre_status status = vy_gpu_check_process(&starter, "OpenCL", error);
    if (status != VYRE_OK)
        return status;
    atomic_store(&starter, (long)getpid());
    int32_t result = api->platform_ids(PLATFORMS, platforms, &platform_count);
    if (result != VY_CL_OK || !platform_count)
        return fail_without_platform(result, error);
    for (uint32_t i = 0; i < platform_count && i < PLATFORMS && status == VYRE_OK; i++)
        status = list_platform(api, platforms[i], &list, note, error);
    if (status == VYRE_OK && !list.count)
        status =
            vy_fail(error, VYRE_NOT_FOUND, "install a driver for your device, or PoCL for the processor", "%s", note);
    if (status == VYRE_OK && list.capacity != list.count) { /* callers compute the size for vy_release from the count */
        void *exact = vy_resize(list.items, list.capacity * sizeof *list.items, list.count * sizeof *list.items);
        status = exact ? (vyre_status)VYRE_OK : vy_fail_memory(error, "listing OpenCL devices");
        if (exact)
            list.items = exact, list.capacity = list.count;
    }
    if (status != VYRE_OK) {
        VY_VECTOR_FREE(&list);
        return status;
    }
    sort_devices(list.items, list.count);
    *out = list.items, *count = list.count;
    return VYRE_OK;
}

/* ---- the same device under another name ---- */

static int is_same_device(const vy_ocl_device_info *a, const vy_ocl_device_info *b) {
    return (a->has_uuid && b->has_uuid && memcmp(a->uuid, b->uuid, sizeof a->uuid) == 0) ||
           (a->has_pci && b->has_pci && memcmp(a->pci, b->pci, sizeof a->pci) == 0) ||
           (a->device_class == VYRE_DEVICE_SOFTWARE && b->device_class == VYRE_DEVICE_SOFTWARE);
}

/* The CUDA device number for this PCI address; -1: not a CUDA device. */
static int find_in_cuda(const vy_ocl_device_info *info) {
    enum { NVIDIA = 0x10de };
    int (*start)(unsigned), (*by_place)(int *, const char *), number = -1;
    char place[32];
    void *library = info->vendor == NVIDIA && info->has_pci ? dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!library)
        return -1;
    void *symbols[] = {dlsym(library, "cuInit"), dlsym(library, "cuDeviceGetByPCIBusId")};
    memcpy(&start, &symbols[0], sizeof start), memcpy(&by_place, &symbols[1], sizeof by_place);
    snprintf(place, sizeof place, "%04" PRIx32 ":%02" PRIx32 ":%02" PRIx32 ".%" PRIx32, info->pci[0], info->pci[1],
             info->pci[2], info->pci[3]);
    if (!start || !by_place || start(0) != 0 || by_place(&number, place) != 0)
        number = -1;
    dlclose(library);
    return number;
}

/* Appends the other names of the device to the text. */
static void append_twins(const vy_ocl_device_info *items, uint32_t count, uint32_t index, char *text, size_t room) {
    const vy_ocl_device_info *info = &items[index];
    size_t used = strlen(text);
    if (info->has_pci)
        used += (size_t)snprintf(text + used, room - used, ", PCI %04" PRIx32 ":%02" PRIx32 ":%02" PRIx32 ".%" PRIx32,
                                 info->pci[0], info->pci[1], info->pci[2], info->pci[3]);
    int cuda = find_in_cuda(info);
    if (cuda >= 0 && used < room)
        used += (size_t)snprintf(text + used, room - used, ", the same device as cuda#%d", cuda);
    for (uint32_t i = 0; i < count && used < room; i++)
        if (i != index && is_same_device(info, &items[i]))
            used += (size_t)snprintf(text + used, room - used, ", the same device as opencl#%" PRIu32, i);
}

/* ---- the device of an instance ---- */

static vyre_status choose_device(vy_ocl *ocl, vyre_error *error) {
    vy_ocl_device_info *items;
    uint32_t count;
    char note[256];
    vyre_status status = vy_ocl_devices_list(&ocl->api, &items, &count, note, error);
    if (status != VYRE_OK)
        return status;
    status = vy_gpu_check_ordinal("opencl", ocl->ordinal, count, error);
    if (status == VYRE_OK && items[ocl->ordinal].refusal[0]) {
        status = vy_fail(error, VYRE_UNSUPPORTED, "use another device, or a newer driver", "%s is not served: %s",
                         items[ocl->ordinal].name, items[ocl->ordinal].refusal);
    } else if (status == VYRE_OK) {
        ocl->info = items[ocl->ordinal];
        append_twins(items, count, ocl->ordinal, ocl->info.driver, sizeof ocl->info.driver);
    }
    vy_release(items, count * sizeof *items);
    return status;
}

static uint64_t promised_by_config(uint64_t config) {
    const uint64_t divides = UINT64_C(1) << VYRE_NUMERIC_F32_DIV | UINT64_C(1) << VYRE_NUMERIC_F32_SQRT;
    return (config & VY_CL_FP_EXACT_DIVIDE_SQRT ? divides : 0) |
           (config & VY_CL_FP_SUBNORMAL ? UINT64_C(1) << VYRE_NUMERIC_F32_SUBNORMAL : 0) |
           (config & VY_CL_FP_FMA ? UINT64_C(1) << VYRE_NUMERIC_F32_FMA : 0);
}

/* Half of the stack on which PoCL runs a workgroup. PoCL creates its threads with the default stack size of the
 * process. Device "basic" runs workgroups on the calling thread, of whose stack 256 KiB are assumed. */
static uint64_t pocl_stack_bytes(const char *device) {
    pthread_attr_t attributes;
    size_t size = 0;
    if (strncmp(device, "basic", 5) != 0 && pthread_getattr_default_np(&attributes) == 0) {
        (void)pthread_attr_getstacksize(&attributes, &size);
        pthread_attr_destroy(&attributes);
    }
    return (size ? size : (size_t)256 << 10) / 2;
}

static void describe_target(vy_ocl *ocl) {
    const vy_ocl_device_info *info = &ocl->info;
    int is_cpu = info->device_class == VYRE_DEVICE_SOFTWARE;
    memset(&ocl->target, 0, sizeof ocl->target);
    atomic_store(&ocl->base.exact, vy_opencl_assumed(info->has_fp64));
    ocl->base.promised = vy_opencl_assumed(info->has_fp64) | promised_by_config(info->single_config);
    ocl->base.identity = info->identity;
    ocl->target.access_bytes = is_cpu ? 0 : 16;
    ocl->target.version = info->c_version;
    ocl->target.local_bytes = info->local_bytes;
    ocl->target.has_int64_atomics = info->has_int64_atomics;
    ocl->target.has_ordered_atomics = info->has_ordered_atomics;
    if (strcmp(info->platform_name, "Portable Computing Language") == 0) {
        ocl->target.errata = VY_OPENCL_ERRATUM_POCL;
        ocl->target.stack_bytes = pocl_stack_bytes(info->name);
    } else if (strstr(info->platform_name, "NVIDIA")) {
        ocl->target.errata = VY_OPENCL_ERRATUM_NVIDIA;
    } else if (is_cpu && strstr(info->platform_name, "Intel")) {
        ocl->target.errata = VY_OPENCL_ERRATUM_INTEL;
    }
}

/* ---- context and loss ---- */

vyre_status vy_ocl_failed(vy_ocl *ocl, int32_t result, const char *doing, vyre_error *error) {
    int none = 0;
    if (vy_ocl_is_loss(result))
        atomic_compare_exchange_strong(&ocl->base.loss, &none, result);
    return vy_ocl_fail_result(result, doing, error);
}

vyre_status vy_ocl_fail_lost(vy_ocl *ocl, vyre_error *error) {
    return vy_ocl_fail_result(atomic_load(&ocl->base.loss), "the device was lost before", error);
}

/* Releases all device resources. The handles of resident buffers remain, and can still be freed. */
static void device_end(vy_ocl *ocl) {
    vy_ocl_slots_free(ocl);
    vy_ocl_blocks_invalidate(ocl);
    if (ocl->signal_queue)
        ocl->api.queue_release(ocl->signal_queue);
    if (ocl->context)
        ocl->api.context_release(ocl->context);
    ocl->signal_queue = NULL;
    ocl->context = NULL;
}

static vyre_status device_start(vy_ocl *ocl, vyre_error *error) {
    const intptr_t properties[] = {VY_CL_CONTEXT_PLATFORM, (intptr_t)ocl->info.platform, 0};
    int32_t result;
    ocl->context = ocl->api.context_create(properties, 1, &ocl->info.device, NULL, NULL, &result);
    vyre_status status = vy_ocl_check(ocl, result, "making a context", error);
    if (status == VYRE_OK)
        status = vy_ocl_findings_get(ocl, error);
    ocl->base.can_signal = ocl->findings.signal != VY_OCL_SIGNAL_SLICES;
    ocl->base.has_host_arena = ocl->findings.shares_memory != 0;
    /* A GPU serves a group that reads one address fast from constant memory, and others one by one. */
    ocl->target.constant_bytes = ocl->findings.has_fast_constants ? ocl->info.constant_bytes : 0;
    ocl->target.uniform_bytes = ocl->info.device_class == VYRE_DEVICE_SOFTWARE ? 0 : ocl->info.constant_bytes;
    if (status == VYRE_OK && ocl->findings.signal == VY_OCL_SIGNAL_QUEUE) {
        ocl->signal_queue = ocl->api.queue_create(ocl->context, ocl->info.device, 0, &result);
        status = vy_ocl_check(ocl, result, "making a command queue", error);
    }
    if (status != VYRE_OK)
        device_end(ocl);
    return status;
}

static vyre_status try_recover(void *self, vyre_error *error) {
    vy_ocl *ocl = self;
    vyre_error why;
    device_end(ocl);
    atomic_store(&ocl->base.loss, 0);
    vyre_status status = device_start(ocl, &why);
    if (status == VYRE_OK) {
        vy_ocl_blocks_free(ocl);
        return VYRE_OK;
    }
    atomic_store(&ocl->base.loss, VY_CL_INVALID_QUEUE);
    return vy_gpu_fail_recovery(status, &why, error);
}

/* ---- the backend's table ---- */

static const char *const *supported_ops(void *self, size_t *count) {
    (void)self;
    return vy_ops_without_grid_barrier(count);
}

static uint64_t min_u64(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

/* OpenCL supports neither grid barriers nor indirect grids: src/driver splits programs at grid barriers, and reads grid
 * sizes from buffers. launch.c splits grids that exceed the OpenCL driver's limit in one dimension. */
static uint64_t capability(void *self, vyre_capability capability) {
    const vy_ocl *ocl = self;
    switch (capability) {
    case VYRE_CAPABILITY_SUBGROUP_OPS:
        return ocl->target.shuffle != VY_OPENCL_NO_SHUFFLE;
    case VYRE_CAPABILITY_SUBGROUP_SIZE:
        return ocl->target.subgroup_width;
    case VYRE_CAPABILITY_MAX_WORKGROUP_SIZE_X:
        return ocl->info.groups[0];
    case VYRE_CAPABILITY_MAX_WORKGROUP_SIZE_Y:
        return ocl->info.groups[1];
    case VYRE_CAPABILITY_MAX_WORKGROUP_SIZE_Z:
        return ocl->info.groups[2] < VY_OPENCL_LONGEST_Z ? ocl->info.groups[2] : ocl->info.groups[0]; /* flat */
    case VYRE_CAPABILITY_MAX_INVOCATIONS:
        return ocl->info.invocations;
    case VYRE_CAPABILITY_MAX_WORKGROUPS:
        return UINT32_MAX;
    case VYRE_CAPABILITY_MAX_STORAGE_BYTES:
        return min_u64(ocl->info.max_allocation, (uint64_t)UINT32_MAX * 8); /* elements of the largest type */
    case VYRE_CAPABILITY_CANCEL:
        return ocl->findings.signal == VY_OCL_SIGNAL_SLICES ? 2 : 1;
    default:
        return 0;
    }
}

static void device_profile(void *self, vyre_device_profile *profile) {
    const vy_ocl *ocl = self;
    profile->device = ocl->info.name;
    profile->driver = ocl->info.driver;
    const vy_opencl_device device = {.exact = ocl->base.promised, /* another thread may probe, and change the target */
                                     .subgroup_width = ocl->target.subgroup_width,
                                     .shuffle = ocl->target.shuffle,
                                     .access_bytes = ocl->target.access_bytes};
    const vy_target_desc target = vy_opencl_target(&device, NULL, 0);
    vy_target_profile(&target, profile);
    profile->supports_int64_atomics = ocl->info.has_int64_atomics;
    profile->max_shared_memory_bytes = (uint32_t)min_u64(ocl->info.local_bytes, VY_LIMIT_WORKGROUP_BYTES);
    profile->compute_units = ocl->info.compute_units;
    profile->l2_cache_bytes = (uint32_t)min_u64(ocl->info.cache_bytes, UINT32_MAX);
}

/* The binary depends on the device, the driver, the target of legalisation and the object format. */
static vyre_status cache_identity(void *self, vyre_bytes *out, vyre_error *error) {
    vy_ocl *ocl = self;
    vy_opencl_device target = ocl->target;
    vyre_status status = vy_gpu_numerics_confirm(self, error);
    target.exact = atomic_load(&ocl->base.exact);
    size_t length = strlen(ocl->info.identity);
    if (status == VYRE_OK)
        status = vyre_bytes_resize(out, length + sizeof target + sizeof(uint32_t), error);
    if (status != VYRE_OK)
        return status;
    const uint32_t format = VY_OCL_FORMAT;
    memcpy(out->data, ocl->info.identity, length);
    memcpy((char *)out->data + length, &target, sizeof target);
    memcpy((char *)out->data + length + sizeof target, &format, sizeof format);
    return VYRE_OK;
}

static vyre_status shutdown(void *self, vyre_error *error) {
    (void)error;
    device_end(self);
    return VYRE_OK;
}

static void destroy(void *self) {
    vy_ocl *ocl = self;
    vy_gpu_watch_end(&ocl->base);
    device_end(ocl);
    vy_ocl_blocks_free(ocl);
    vy_gpu_end(&ocl->base);
    vy_release(ocl, sizeof *ocl);
}

static const vyre_backend_vtable table = {
    .struct_size = sizeof(vyre_backend_vtable),
    .abi = VYRE_BACKEND_ABI,
    .id = vy_gpu_id,
    .version = vy_gpu_version,
    .supported_ops = supported_ops,
    .resident_allocate = vy_ocl_resident_allocate,
    .resident_free = vy_ocl_resident_free,
    .resident_upload = vy_gpu_resident_upload,
    .resident_download = vy_gpu_resident_download,
    .resident_upload_batch = vy_gpu_resident_upload_batch,
    .resident_download_batch = vy_gpu_resident_download_batch,
    .resident_wrap = vy_ocl_resident_wrap,
    .resident_location = vy_ocl_resident_location,
    .compile = vy_gpu_pipeline_compile,
    .load = vy_gpu_pipeline_load,
    .cache_identity = cache_identity,
    .cache_snapshot = vy_gpu_cache_snapshot,
    .sequence = vy_gpu_sequence_run,
    .capability = capability,
    .device_profile = device_profile,
    .shutdown = shutdown,
    .device_lost = vy_gpu_device_lost,
    .try_recover = try_recover,
    .destroy = destroy,
    .numerics = vy_gpu_numerics,
    .emit = vy_ocl_emit,
};

/* ---- construction ---- */

/* Smaller buffers are copied, because creating a memory object costs as much. */
enum { DIRECT_BYTES = 64 << 10, DIRECT_MAX = 1 << 30 };

static vyre_status read_variables(uint32_t *direct_bytes, vyre_error *error) {
    return vy_env_number("VYRE_OPENCL_DIRECT", 0, DIRECT_MAX, DIRECT_BYTES, direct_bytes, error);
}

vyre_status vy_ocl_create(const vyre_host *host, uint32_t ordinal, vyre_backend_instance *out, vyre_error *error) {
    (void)host;
    vy_ocl *ocl = vy_allocate_zero(sizeof *ocl);
    if (!ocl)
        return vy_fail_memory(error, "making the opencl backend");
    ocl->ordinal = ordinal;
    vy_gpu_start(&ocl->base, "opencl", &vy_ocl_calls);
    ocl->base.has_probe = (uint8_t)vy_env_flag("VYRE_OPENCL_PROBE", 1);
    vyre_status status = vy_ocl_dynamic_symbols_open(vy_ocl_dynamic_symbols_file(), &ocl->api, error);
    if (status == VYRE_OK)
        status = read_variables(&ocl->direct_bytes, error);
    if (status == VYRE_OK)
        status = choose_device(ocl, error);
    if (status == VYRE_OK) {
        describe_target(ocl);
        status = device_start(ocl, error);
    }
    if (status != VYRE_OK) {
        destroy(ocl);
        return status;
    }
    *out = (vyre_backend_instance){&table, ocl};
    return VYRE_OK;
}

/* Queries the drivers; creates no context. */
void vy_ocl_probe(const vyre_host *host, vyre_probe *out) {
    vy_ocl_dynamic_symbols api;
    vy_ocl_device_info *items;
    uint32_t count;
    char note[256];
    vyre_error error;
    (void)host;
    vyre_status status = read_variables(&count, &error);
    if (status == VYRE_OK)
        status = vy_ocl_dynamic_symbols_open(vy_ocl_dynamic_symbols_file(), &api, &error);
    if (status == VYRE_OK)
        status = vy_ocl_devices_list(&api, &items, &count, note, &error);
    if (status != VYRE_OK) {
        vy_gpu_probe_never(out, &error);
        return;
    }
    out->answer = VYRE_PROBE_NEVER;
    out->device_class = items[0].device_class;
    out->device_count = count;
    if (items[0].refusal[0]) {
        snprintf(out->reason, sizeof out->reason, "%.100s is not served: %s", items[0].name, items[0].refusal);
        snprintf(out->fix, sizeof out->fix, "install another driver, or PoCL for the processor");
    } else {
        out->answer = VYRE_PROBE_YES;
        if (!note[0])
            check_driver_files(vendors_folder(), note);
        snprintf(out->reason, sizeof out->reason, "%s", note);
    }
    vy_release(items, count * sizeof *items);
}
