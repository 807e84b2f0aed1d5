/* Images of kernels that NVRTC or a driver of OpenCL made, in the folder of `sdfg cache`: the next run of the same kernels on the same
 * device does not compile them.
 *
 * A file has everything that the image depends on, which is compared when it is read: no two kernels share an image. Files
 * appear whole, under names that `crates/codegen/src/cache` knows, and are checked by a sum. Files that were not used for the longest time make room for others. A cache that cannot be used makes the first run slower; it is
 * never an error. */

#include "common.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utime.h>

/* The first bytes of a file; a change of what follows changes them. */
#define SDFG_CACHE_MAGIC "sdfg kernels 1\n"

/* The end of the names of files. */
#define SDFG_CACHE_EXTENSION ".sdfg-kernels"

/* The most bytes of all files. */
#define SDFG_CACHE_LIMIT ((uint64_t)1 << 30)

/* The usual beginning of a hash. */
#define SDFG_CACHE_SEED 0xcbf29ce484222325u

/* A hash of bytes (FNV-1a), from one of several beginnings. */
SDFG_DEVICE_FUNCTION uint64_t sdfg_cache_hash(uint64_t hash, const void *bytes, size_t size) {
    for (size_t n = 0; n < size; ++n) {
        hash = (hash ^ ((const unsigned char *)bytes)[n]) * 0x100000001b3u;
    }
    return hash;
}

/* Everything that an image depends on, as a text that the caller frees. The target tells the device and its compiler. */
SDFG_DEVICE_FUNCTION char *sdfg_cache_key(const char *target, const char *options, const char *source) {
    const size_t size = strlen(target) + strlen(options) + strlen(source) + 3;
    char *const key = (char *)malloc(size);
    if (key != NULL) {
        snprintf(key, size, "%s %s\n%s", target, options, source);
    }
    return key;
}

/* The name of the file of a key, and the folder's name in front of it; false without a cache. */
SDFG_DEVICE_FUNCTION bool sdfg_cache_path(const char *key, char *path, size_t size, size_t *folder) {
#ifdef SDFG_DEVICE_CACHE
    const char *const own = SDFG_DEVICE_CACHE;
#else
    const char *const own = getenv("SDFG_CACHE");
#endif
    const char *const base = getenv("XDG_CACHE_HOME"), *const home = getenv("HOME");
    int written;
    if (own != NULL) {
        written = own[0] == 0 ? -1 : snprintf(path, size, "%s", own);
    } else if (base != NULL && base[0] == '/') {
        written = snprintf(path, size, "%s/sdfg", base);
    } else {
        written = home != NULL && home[0] == '/' ? snprintf(path, size, "%s/.cache/sdfg", home) : -1;
    }
    if (written < 0 || (size_t)written >= size) {
        return false;
    }
    *folder = (size_t)written;
    const size_t length = strlen(key);
    const uint64_t first = sdfg_cache_hash(SDFG_CACHE_SEED, key, length), second = sdfg_cache_hash(~(uint64_t)0, key, length);
    written = snprintf(path + *folder, size - *folder, "/%016llx%016llx" SDFG_CACHE_EXTENSION, (unsigned long long)first, (unsigned long long)second);
    return written > 0 && *folder + (size_t)written < size;
}

/* Reads the image of a key, which the caller frees; false if it is missing or damaged. */
SDFG_DEVICE_FUNCTION bool sdfg_cache_read(const char *key, unsigned char **image, size_t *size) {
    char path[4096], magic[sizeof SDFG_CACHE_MAGIC - 1];
    size_t folder = 0;
    uint64_t head[3];
    const size_t length = strlen(key);
    if (!sdfg_cache_path(key, path, sizeof path, &folder)) {
        return false;
    }
    FILE *const file = fopen(path, "rbe");
    if (file == NULL) {
        return false;
    }
    bool is_good = fread(magic, sizeof magic, 1, file) == 1 && memcmp(magic, SDFG_CACHE_MAGIC, sizeof magic) == 0 && fread(head, sizeof head, 1, file) == 1 && head[0] == length && head[1] > 0 && head[1] < (uint64_t)1 << 32;
    unsigned char *const bytes = is_good ? (unsigned char *)malloc(length + head[1]) : NULL;
    is_good = bytes != NULL && fread(bytes, length + head[1], 1, file) == 1 && memcmp(bytes, key, length) == 0 && sdfg_cache_hash(SDFG_CACHE_SEED, bytes + length, head[1]) == head[2];
    (void)fclose(file);
    if (is_good) {
        memmove(bytes, bytes + length, head[1]);
        *image = bytes;
        *size = head[1];
        /* It counts as used. */
        (void)utime(path, NULL);
    } else {
        free(bytes);
    }
    return is_good;
}

/* Makes the folder of a path, and those around it. */
SDFG_DEVICE_FUNCTION void sdfg_cache_make_folder(char *path, size_t folder) {
    for (size_t n = 1; n <= folder; ++n) {
        if (path[n] == '/') {
            path[n] = 0;
            (void)mkdir(path, 0777);
            path[n] = '/';
        }
    }
}

/* Removes the file in a folder that was not used for the longest time, if all of them take more than the limit; whether it did. */
SDFG_DEVICE_FUNCTION bool sdfg_cache_remove_oldest(const char *folder) {
    char path[4096], oldest[4096] = "";
    uint64_t total = 0;
    time_t used = 0;
    DIR *const all = opendir(folder);
    for (const struct dirent *entry = all == NULL ? NULL : readdir(all); entry != NULL; entry = readdir(all)) {
        struct stat about;
        const size_t length = strlen(entry->d_name), end = sizeof SDFG_CACHE_EXTENSION - 1;
        const int written = snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (length <= end || strcmp(entry->d_name + length - end, SDFG_CACHE_EXTENSION) != 0 || written < 0 || (size_t)written >= sizeof path || stat(path, &about) != 0) {
            continue;
        }
        total += (uint64_t)about.st_size;
        if (oldest[0] == 0 || about.st_mtime < used) {
            used = about.st_mtime;
            memcpy(oldest, path, sizeof path);
        }
    }
    if (all != NULL) {
        (void)closedir(all);
    }
    return total > SDFG_CACHE_LIMIT && unlink(oldest) == 0;
}

/* Keeps the image of a key. */
SDFG_DEVICE_FUNCTION void sdfg_cache_write(const char *key, const unsigned char *image, size_t size) {
    char path[4096], unfinished[4096 + 32];
    size_t folder = 0;
    if (!sdfg_cache_path(key, path, sizeof path, &folder)) {
        return;
    }
    sdfg_cache_make_folder(path, folder);
    snprintf(unfinished, sizeof unfinished, "%.*s/.sdfg-XXXXXX.unfinished", (int)folder, path);
    const int number = mkstemps(unfinished, 11);
    FILE *const file = number < 0 ? NULL : fdopen(number, "wb");
    if (file == NULL) {
        return;
    }
    const uint64_t length = strlen(key);
    const uint64_t head[3] = { length, size, sdfg_cache_hash(SDFG_CACHE_SEED, image, size) };
    bool is_written = fputs(SDFG_CACHE_MAGIC, file) >= 0 && fwrite(head, sizeof head, 1, file) == 1 && fwrite(key, length, 1, file) == 1 && fwrite(image, size, 1, file) == 1;
    is_written = fclose(file) == 0 && is_written;
    if (!is_written || rename(unfinished, path) != 0) {
        (void)unlink(unfinished);
    }
    path[folder] = 0;
    while (sdfg_cache_remove_oldest(path)) {
    }
}
