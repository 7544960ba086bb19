/* Replays inputs through a fuzz target without libFuzzer: every file named on the command line and every file of every
 * folder named there. So the corpora run as ordinary tests, with any compiler. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned long inputs;

static int replay_file(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file) {
        fprintf(stderr, "cannot read %s\n", path);
        return 1;
    }
    struct stat status;
    size_t room = fstat(fileno(file), &status) == 0 && status.st_size > 0 ? (size_t)status.st_size : 0;
    /* Exactly as large as the input, so that a sanitizer sees a read past its end. */
    uint8_t *data = malloc(room ? room : 1);
    size_t size = data ? fread(data, 1, room, file) : 0;
    fclose(file);
    if (!data || size != room) {
        fprintf(stderr, "cannot read %s whole\n", path);
        free(data);
        return 1;
    }
    inputs++;
    LLVMFuzzerTestOneInput(data, size);
    free(data);
    return 0;
}

static int replay_folder(const char *path) {
    struct dirent **names = NULL;
    int count = scandir(path, &names, NULL, alphasort), failed = 0;
    for (int i = 0; i < count; i++) {
        if (names[i]->d_name[0] != '.') {
            size_t length = strlen(path) + strlen(names[i]->d_name) + 2;
            char *file = malloc(length);
            if (file) {
                snprintf(file, length, "%s/%s", path, names[i]->d_name);
                failed |= replay_file(file);
            }
            failed |= !file;
            free(file);
        }
        free(names[i]);
    }
    free(names);
    return failed;
}

int main(int count, char **arguments) {
    int failed = 0;
    for (int i = 1; i < count; i++) {
        struct stat status;
        if (stat(arguments[i], &status) != 0)
            printf("SKIP %s: no such corpus\n", arguments[i]);
        else
            failed |= S_ISDIR(status.st_mode) ? replay_folder(arguments[i]) : replay_file(arguments[i]);
    }
    /* What a target must survive in any case, corpus or not. */
    LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
    printf("%lu inputs replayed\n", inputs);
    return failed;
}
