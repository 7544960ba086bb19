/* GLSL on lavapipe, through Vulkan. The loader is opened at run time; without its headers at build time this version is
 * left out.
 *
 * Buffers are in host-visible memory, mapped permanently: nothing is copied. The commands of a job are recorded once; a
 * run is one submission and one wait. */
#include "suite.h"

#include <stdio.h>

#ifdef SUITE_VULKAN
#define VK_NO_PROTOTYPES
#include <vulkan/vulkan.h>

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#define GLOBAL_FUNCTIONS(X) X(vkCreateInstance)
#define INSTANCE_FUNCTIONS(X)                                                                                          \
    X(vkDestroyInstance)                                                                                               \
    X(vkEnumeratePhysicalDevices)                                                                                      \
    X(vkGetPhysicalDeviceProperties2)                                                                                  \
    X(vkGetPhysicalDeviceFeatures2)                                                                                    \
    X(vkGetPhysicalDeviceMemoryProperties)                                                                             \
    X(vkGetPhysicalDeviceQueueFamilyProperties)                                                                        \
    X(vkCreateDevice)                                                                                                  \
    X(vkDestroyDevice)                                                                                                 \
    X(vkGetDeviceQueue)                                                                                                \
    X(vkCreateBuffer)                                                                                                  \
    X(vkDestroyBuffer)                                                                                                 \
    X(vkGetBufferMemoryRequirements)                                                                                   \
    X(vkAllocateMemory)                                                                                                \
    X(vkFreeMemory)                                                                                                    \
    X(vkBindBufferMemory)                                                                                              \
    X(vkMapMemory)                                                                                                     \
    X(vkCreateShaderModule)                                                                                            \
    X(vkDestroyShaderModule)                                                                                           \
    X(vkCreateDescriptorSetLayout)                                                                                     \
    X(vkDestroyDescriptorSetLayout)                                                                                    \
    X(vkCreatePipelineLayout)                                                                                          \
    X(vkDestroyPipelineLayout)                                                                                         \
    X(vkCreateComputePipelines)                                                                                        \
    X(vkDestroyPipeline)                                                                                               \
    X(vkCreateDescriptorPool)                                                                                          \
    X(vkDestroyDescriptorPool)                                                                                         \
    X(vkAllocateDescriptorSets)                                                                                        \
    X(vkUpdateDescriptorSets)                                                                                          \
    X(vkCreateCommandPool)                                                                                             \
    X(vkDestroyCommandPool)                                                                                            \
    X(vkAllocateCommandBuffers)                                                                                        \
    X(vkBeginCommandBuffer)                                                                                            \
    X(vkEndCommandBuffer)                                                                                              \
    X(vkCmdBindPipeline)                                                                                               \
    X(vkCmdBindDescriptorSets)                                                                                         \
    X(vkCmdPushConstants)                                                                                              \
    X(vkCmdDispatch)                                                                                                   \
    X(vkCmdPipelineBarrier)                                                                                            \
    X(vkQueueSubmit)                                                                                                   \
    X(vkCreateFence)                                                                                                   \
    X(vkDestroyFence)                                                                                                  \
    X(vkResetFences)                                                                                                   \
    X(vkWaitForFences)

static struct {
    PFN_vkGetInstanceProcAddr find;
#define X(name) PFN_##name name;
    GLOBAL_FUNCTIONS(X)
    INSTANCE_FUNCTIONS(X)
#undef X
    VkInstance instance;
    VkPhysicalDevice physical;
    VkDevice device;
    VkQueue queue;
    uint32_t family, memory_type;
    VkDescriptorSetLayout set_layout; /* BINDINGS storage buffers; a kernel uses the first of them */
    VkPipelineLayout layout;
    VkFence fence;
} vk;

typedef struct job {
    const work *work;
    VkBuffer buffers[ARRAYS];
    VkDeviceMemory memory[ARRAYS];
    void *mapped[ARRAYS];
    VkPipeline *pipelines; /* one per step; equal ones repeat the handle of the first */
    VkDescriptorPool sets;
    VkCommandPool commands;
    VkCommandBuffer recorded;
} job;

/* ---- the device ---- */

static int load(char *reason) {
    void *library = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
    void *entry = library ? dlsym(library, "vkGetInstanceProcAddr") : NULL;
    if (!entry) {
        snprintf(reason, REASON, "libvulkan.so.1 is not there. Fix: make bench-peers");
        return 0;
    }
    memcpy(&vk.find, &entry, sizeof entry);
#define X(name) vk.name = (PFN_##name)vk.find(NULL, #name);
    GLOBAL_FUNCTIONS(X)
#undef X
    VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_2};
    VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &application};
    VkResult result = vk.vkCreateInstance(&info, NULL, &vk.instance);
    if (result != VK_SUCCESS) {
        snprintf(reason, REASON, "no instance of Vulkan (error %d). Fix: make bench-peers", result);
        return 0;
    }
#define X(name)                                                                                                        \
    if (!(vk.name = (PFN_##name)vk.find(vk.instance, #name))) {                                                        \
        snprintf(reason, REASON, "the Vulkan loader has no %s", #name);                                                \
        return 0;                                                                                                      \
    }
    INSTANCE_FUNCTIONS(X)
#undef X
    return 1;
}

/* Only lavapipe: a GPU would be another comparison. */
static int find_device(char *about, char *reason) {
    VkPhysicalDevice devices[8];
    uint32_t count = 8;
    if (vk.vkEnumeratePhysicalDevices(vk.instance, &count, devices) < 0)
        count = 0;
    for (uint32_t i = 0; i < count; i++) {
        VkPhysicalDeviceDriverProperties driver = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES};
        VkPhysicalDeviceProperties2 properties = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                                  .pNext = &driver};
        vk.vkGetPhysicalDeviceProperties2(devices[i], &properties);
        if (properties.properties.deviceType != VK_PHYSICAL_DEVICE_TYPE_CPU)
            continue;
        vk.physical = devices[i];
        snprintf(about, REASON, "%.200s, %.200s", properties.properties.deviceName, driver.driverInfo);
        return 1;
    }
    snprintf(reason, REASON, "no software device among %u. Fix: make bench-peers", count);
    return 0;
}

/* Host-visible memory; a family of queues that computes. */
static int choose_kinds(void) {
    VkPhysicalDeviceMemoryProperties memory;
    VkQueueFamilyProperties families[8];
    uint32_t count = 8;
    VkMemoryPropertyFlags wanted = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    vk.vkGetPhysicalDeviceQueueFamilyProperties(vk.physical, &count, families);
    while (vk.family < count && !(families[vk.family].queueFlags & VK_QUEUE_COMPUTE_BIT))
        vk.family++;
    vk.vkGetPhysicalDeviceMemoryProperties(vk.physical, &memory);
    while (vk.memory_type < memory.memoryTypeCount &&
           (memory.memoryTypes[vk.memory_type].propertyFlags & wanted) != wanted)
        vk.memory_type++;
    return vk.family < count && vk.memory_type < memory.memoryTypeCount;
}

static VkResult make_layouts(void) {
    VkDescriptorSetLayoutBinding bindings[BINDINGS];
    for (uint32_t i = 0; i < BINDINGS; i++)
        bindings[i] = (VkDescriptorSetLayoutBinding){.binding = i,
                                                     .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                                     .descriptorCount = 1,
                                                     .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT};
    VkDescriptorSetLayoutCreateInfo set = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO, .bindingCount = BINDINGS, .pBindings = bindings};
    VkPushConstantRange words = {VK_SHADER_STAGE_COMPUTE_BIT, 0, WORDS * 4};
    VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    VkResult result = vk.vkCreateDescriptorSetLayout(vk.device, &set, NULL, &vk.set_layout);
    VkPipelineLayoutCreateInfo layout = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                         .setLayoutCount = 1,
                                         .pSetLayouts = &vk.set_layout,
                                         .pushConstantRangeCount = 1,
                                         .pPushConstantRanges = &words};
    if (result == VK_SUCCESS)
        result = vk.vkCreatePipelineLayout(vk.device, &layout, NULL, &vk.layout);
    if (result == VK_SUCCESS)
        result = vk.vkCreateFence(vk.device, &fence, NULL, &vk.fence);
    return result;
}

static void close_vulkan(void) {
    if (vk.device) {
        vk.vkDestroyFence(vk.device, vk.fence, NULL);
        vk.vkDestroyPipelineLayout(vk.device, vk.layout, NULL);
        vk.vkDestroyDescriptorSetLayout(vk.device, vk.set_layout, NULL);
        vk.vkDestroyDevice(vk.device, NULL);
    }
    if (vk.instance && vk.vkDestroyInstance)
        vk.vkDestroyInstance(vk.instance, NULL);
}

/* Enables all features of the device: small and 64-bit integers are among them. */
static int make_device(char *reason) {
    VkPhysicalDeviceVulkan12Features more = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES};
    VkPhysicalDeviceVulkan11Features some = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES,
                                             .pNext = &more};
    VkPhysicalDeviceFeatures2 features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, .pNext = &some};
    float priority = 1;
    VkDeviceQueueCreateInfo queue = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, .queueCount = 1, .pQueuePriorities = &priority};
    VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                               .pNext = &features,
                               .queueCreateInfoCount = 1,
                               .pQueueCreateInfos = &queue};
    VkResult result = VK_ERROR_INITIALIZATION_FAILED;
    vk.vkGetPhysicalDeviceFeatures2(vk.physical, &features);
    if (choose_kinds()) {
        queue.queueFamilyIndex = vk.family;
        result = vk.vkCreateDevice(vk.physical, &info, NULL, &vk.device);
    }
    if (result == VK_SUCCESS) {
        vk.vkGetDeviceQueue(vk.device, vk.family, 0, &vk.queue);
        result = make_layouts();
    }
    if (result != VK_SUCCESS)
        snprintf(reason, REASON, "no device of Vulkan (error %d)", result);
    return result == VK_SUCCESS;
}

static int open_vulkan(const char *option, char *about, char *reason) {
    size_t size;
    (void)option;
    char *shader = suite_read_file(suite_built_path("shaders/saxpy.spv"), &size);
    if (!shader) {
        snprintf(reason, REASON,
                 "the shaders were not compiled: glslangValidator was not there. Fix: make bench-peers, "
                 "then build again");
        return 0;
    }
    free(shader);
    if (load(reason) && find_device(about, reason) && make_device(reason))
        return 1;
    close_vulkan();
    return 0;
}

/* ---- jobs ---- */

static void discard(void *self) {
    job *j = self;
    for (size_t i = 0; j->pipelines && i < j->work->step_count; i++)
        if (i == 0 || j->pipelines[i] != j->pipelines[i - 1]) {
            int seen = 0;
            for (size_t k = 0; k < i; k++)
                seen |= j->pipelines[k] == j->pipelines[i];
            if (!seen)
                vk.vkDestroyPipeline(vk.device, j->pipelines[i], NULL);
        }
    vk.vkDestroyCommandPool(vk.device, j->commands, NULL);
    vk.vkDestroyDescriptorPool(vk.device, j->sets, NULL);
    for (size_t i = 0; i < ARRAYS; i++) {
        vk.vkDestroyBuffer(vk.device, j->buffers[i], NULL);
        vk.vkFreeMemory(vk.device, j->memory[i], NULL);
    }
    free(j->pipelines);
    free(j);
}

static VkResult make_buffer(job *j, size_t index) {
    const array *a = &j->work->arrays[index];
    VkBufferCreateInfo buffer = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                 .size = (a->size + 63) / 64 * 64,
                                 .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT};
    VkMemoryRequirements needs;
    VkResult result = vk.vkCreateBuffer(vk.device, &buffer, NULL, &j->buffers[index]);
    if (result != VK_SUCCESS)
        return result;
    vk.vkGetBufferMemoryRequirements(vk.device, j->buffers[index], &needs);
    VkMemoryAllocateInfo memory = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                   .allocationSize = needs.size,
                                   .memoryTypeIndex = vk.memory_type};
    result = vk.vkAllocateMemory(vk.device, &memory, NULL, &j->memory[index]);
    if (result == VK_SUCCESS)
        result = vk.vkBindBufferMemory(vk.device, j->buffers[index], j->memory[index], 0);
    if (result == VK_SUCCESS)
        result = vk.vkMapMemory(vk.device, j->memory[index], 0, VK_WHOLE_SIZE, 0, &j->mapped[index]);
    if (result == VK_SUCCESS && a->first)
        memcpy(j->mapped[index], a->first, a->size);
    else if (result == VK_SUCCESS)
        memset(j->mapped[index], 0, a->size);
    return result;
}

static VkResult make_pipeline(const char *name, VkPipeline *out) {
    char path[128];
    size_t size;
    VkShaderModule module;
    snprintf(path, sizeof path, "shaders/%s.spv", name);
    char *code = suite_read_file(suite_built_path(path), &size);
    if (!code)
        return VK_ERROR_INITIALIZATION_FAILED;
    VkShaderModuleCreateInfo shader = {.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                       .codeSize = size,
                                       .pCode = (const uint32_t *)(const void *)code};
    VkResult result = vk.vkCreateShaderModule(vk.device, &shader, NULL, &module);
    free(code);
    if (result != VK_SUCCESS)
        return result;
    VkComputePipelineCreateInfo info = {.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
                                        .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                                                  .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                                                  .module = module,
                                                  .pName = "main"},
                                        .layout = vk.layout};
    result = vk.vkCreateComputePipelines(vk.device, VK_NULL_HANDLE, 1, &info, NULL, out);
    vk.vkDestroyShaderModule(vk.device, module, NULL);
    return result;
}

/* One set of descriptors per step. */
static VkResult describe(job *j, size_t index, VkDescriptorSet *out) {
    const step *s = &j->work->steps[index];
    VkDescriptorBufferInfo buffers[BINDINGS];
    VkWriteDescriptorSet writes[BINDINGS];
    VkDescriptorSetAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                        .descriptorPool = j->sets,
                                        .descriptorSetCount = 1,
                                        .pSetLayouts = &vk.set_layout};
    VkResult result = vk.vkAllocateDescriptorSets(vk.device, &info, out);
    for (uint32_t i = 0; i < s->binding_count && result == VK_SUCCESS; i++) {
        buffers[i] = (VkDescriptorBufferInfo){j->buffers[s->bindings[i].array], 0, VK_WHOLE_SIZE};
        writes[i] = (VkWriteDescriptorSet){.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                           .dstSet = *out,
                                           .dstBinding = i,
                                           .descriptorCount = 1,
                                           .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                           .pBufferInfo = &buffers[i]};
    }
    if (result == VK_SUCCESS)
        vk.vkUpdateDescriptorSets(vk.device, s->binding_count, writes, 0, NULL);
    return result;
}

static VkResult record_step(job *j, size_t index) {
    const step *s = &j->work->steps[index];
    VkMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                               .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT,
                               .dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT};
    VkDescriptorSet set;
    VkResult result = VK_SUCCESS;
    for (size_t i = 0; i < index && !j->pipelines[index]; i++)
        if (strcmp(j->work->steps[i].peer, s->peer) == 0)
            j->pipelines[index] = j->pipelines[i];
    if (!j->pipelines[index])
        result = make_pipeline(s->peer, &j->pipelines[index]);
    if (result == VK_SUCCESS)
        result = describe(j, index, &set);
    if (result != VK_SUCCESS)
        return result;
    if (index > 0)
        vk.vkCmdPipelineBarrier(j->recorded, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                                0, 1, &barrier, 0, NULL, 0, NULL);
    vk.vkCmdBindPipeline(j->recorded, VK_PIPELINE_BIND_POINT_COMPUTE, j->pipelines[index]);
    vk.vkCmdBindDescriptorSets(j->recorded, VK_PIPELINE_BIND_POINT_COMPUTE, vk.layout, 0, 1, &set, 0, NULL);
    vk.vkCmdPushConstants(j->recorded, vk.layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof s->words, s->words);
    vk.vkCmdDispatch(j->recorded, s->groups[0], s->groups[1], s->groups[2]);
    return VK_SUCCESS;
}

static VkResult record(job *j) {
    uint32_t steps = (uint32_t)j->work->step_count;
    VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, steps * BINDINGS};
    VkDescriptorPoolCreateInfo sets = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                       .maxSets = steps,
                                       .poolSizeCount = 1,
                                       .pPoolSizes = &size};
    VkCommandPoolCreateInfo commands = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                        .queueFamilyIndex = vk.family};
    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    VkResult result = vk.vkCreateDescriptorPool(vk.device, &sets, NULL, &j->sets);
    if (result == VK_SUCCESS)
        result = vk.vkCreateCommandPool(vk.device, &commands, NULL, &j->commands);
    VkCommandBufferAllocateInfo buffer = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                          .commandPool = j->commands,
                                          .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                          .commandBufferCount = 1};
    if (result == VK_SUCCESS)
        result = vk.vkAllocateCommandBuffers(vk.device, &buffer, &j->recorded);
    if (result == VK_SUCCESS)
        result = vk.vkBeginCommandBuffer(j->recorded, &begin);
    for (size_t i = 0; i < steps && result == VK_SUCCESS; i++)
        result = record_step(j, i);
    if (result == VK_SUCCESS)
        result = vk.vkEndCommandBuffer(j->recorded);
    return result;
}

static void *prepare(const work *w, char *reason) {
    VkResult result = VK_SUCCESS;
    job *j = calloc(1, sizeof *j);
    if (!j)
        return NULL;
    j->work = w;
    j->pipelines = calloc(w->step_count, sizeof *j->pipelines);
    if (!j->pipelines)
        result = VK_ERROR_OUT_OF_HOST_MEMORY;
    for (size_t i = 0; i < w->array_count && result == VK_SUCCESS; i++)
        result = make_buffer(j, i);
    if (result == VK_SUCCESS)
        result = record(j);
    if (result == VK_SUCCESS)
        return j;
    snprintf(reason, REASON, "Vulkan error %d", result);
    discard(j);
    return NULL;
}

static int run(void *self) {
    job *j = self;
    VkSubmitInfo submit = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &j->recorded};
    return vk.vkQueueSubmit(vk.queue, 1, &submit, vk.fence) == VK_SUCCESS &&
           vk.vkWaitForFences(vk.device, 1, &vk.fence, VK_TRUE, UINT64_MAX) == VK_SUCCESS &&
           vk.vkResetFences(vk.device, 1, &vk.fence) == VK_SUCCESS;
}

static void reset(void *self) {
    job *j = self;
    for (size_t i = 0; i < j->work->array_count; i++)
        if (j->work->arrays[i].role == ROLE_BOTH)
            memcpy(j->mapped[i], j->work->arrays[i].first, j->work->arrays[i].size);
}

static const void *array_of(void *self, size_t index) {
    return ((job *)self)->mapped[index];
}

double suite_vulkan_empty(int dispatches) {
    char reason[REASON];
    step s = {.peer = "empty", .groups = {1, 1, 1}, .local = {1, 1, 1}};
    work w = {.steps = &s, .step_count = 1};
    job *j = prepare(&w, reason);
    if (!j)
        return -1;
    int good = run(j);
    double start = suite_now();
    for (int i = 0; i < dispatches && good; i++)
        good = run(j);
    double seconds = (suite_now() - start) / dispatches;
    discard(j);
    return good ? seconds : -1;
}

const runner suite_vulkan = {"vulkan", "lavapipe", open_vulkan,  prepare, reset, run,
                             array_of, discard,    close_vulkan, NULL,    NULL};

#else

static int open_vulkan(const char *option, char *about, char *reason) {
    (void)option, (void)about;
    snprintf(reason, REASON, "built without vulkan/vulkan.h. Fix: make bench-peers, then build again");
    return 0;
}

double suite_vulkan_empty(int dispatches) {
    (void)dispatches;
    return -1;
}

const runner suite_vulkan = {.id = "vulkan", .title = "lavapipe", .open = open_vulkan};

#endif
