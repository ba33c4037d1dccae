// Loaded into a process before the C library. Each sync of a file in DEVICE_FOLDER copies the file to DEVICE_SYNCED, which has what
// the device has then; or fails, as long as the file DEVICE_FAILS exists.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;

static int copied(const char *from, const char *name) {
    char path[4096], part[4096];
    const char *synced = getenv("DEVICE_SYNCED");
    snprintf(path, sizeof path, "%s/%s", synced, name);
    snprintf(part, sizeof part, "%s/%s.part", synced, name);
    int copy = open(part, O_CREAT | O_TRUNC | O_WRONLY, 0600);
    // The file that is synced may be open for writing alone.
    int file = open(from, O_RDONLY);
    if (copy < 0 || file < 0) return -1;
    static char bytes[65536];
    off_t at = 0;
    ssize_t count;
    while ((count = pread(file, bytes, sizeof bytes, at)) > 0) {
        if (write(copy, bytes, (size_t)count) != count) return -1;
        at += count;
    }
    close(copy);
    close(file);
    return count < 0 ? -1 : rename(part, path);
}

static int synced(int file, int (*real)(int)) {
    const char *folder = getenv("DEVICE_FOLDER"), *fails = getenv("DEVICE_FAILS");
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (folder == NULL || length < 0) return real(file);
    path[length] = 0;
    size_t prefix = strlen(folder);
    if (strncmp(path, folder, prefix) != 0 || path[prefix] != '/') return real(file);
    if (fails != NULL && access(fails, F_OK) == 0) {
        errno = EIO;
        return -1;
    }
    pthread_mutex_lock(&one);
    int result = copied(path, path + prefix + 1);
    pthread_mutex_unlock(&one);
    if (result != 0) abort();
    return 0;
}

#define SYNC(name) \
    int name(int file) { return synced(file, (int (*)(int))dlsym(RTLD_NEXT, #name)); }
SYNC(fsync)
SYNC(fdatasync)
