// Loaded into the program before the C library: counts what it does with the files of one folder, and lets one operation fail.
//
// FAIL_FOLDER  the folder, an absolute path; relative paths are below it
// FAIL_AT      which operation fails, from 1; 0 for none
// FAIL_HOW     error: it fails with EIO; full: it and all later ones that need space fail with ENOSPC; torn: half of a write is
//              done, or all of another operation, and the process is killed; power: it is done, the process is killed, and files lose
//              what was not synced
// FAIL_KEEPS   what stands in the path of a file that loses nothing: the system may have written it for itself
// FAIL_SEED    a number by which it is chosen for each file what is left of what was not synced: nothing, all, a part, or a part with
//              zeros behind it, as file systems leave that grow a file before they write it
// FAIL_MARK    a file that is created when it happens
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#define MOST 65536
static atomic_char watched[MOST];
static atomic_long operations;

enum effect { NONE, FAIL, KILL, CUT };

// One operation after the other, so that nothing is written between a loss of power and the end.
static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;

// The files that were opened, and how many of their bytes are on the disk. What earlier processes have written is.
#define FILES 1024
static struct { dev_t device; ino_t inode; off_t synced; char path[1024]; } files[FILES];
static int known;

static int numbered(int file) {
    struct stat found;
    if (fstat(file, &found) != 0 || !S_ISREG(found.st_mode)) return -1;
    for (int number = 0; number < known; number++)
        if (files[number].device == found.st_dev && files[number].inode == found.st_ino) return number;
    return -1;
}

static void opened(int file, const char *path) {
    struct stat found;
    if (fstat(file, &found) != 0 || !S_ISREG(found.st_mode)) return;
    int number = numbered(file);
    if (number >= 0 && strcmp(files[number].path, path) == 0) {
        // It may have been emptied.
        if (found.st_size < files[number].synced) files[number].synced = found.st_size;
        return;
    }
    if (strlen(path) >= sizeof files[0].path) abort();
    // An inode of a file that is gone is used again.
    if (number < 0) number = known++;
    if (number == FILES) abort();
    files[number].device = found.st_dev;
    files[number].inode = found.st_ino;
    files[number].synced = found.st_size;
    strcpy(files[number].path, path);
}

static void shortened_or_synced(int file, int is_synced) {
    struct stat found;
    int number = numbered(file);
    if (number < 0 || fstat(file, &found) != 0) return;
    if (is_synced || found.st_size < files[number].synced) files[number].synced = found.st_size;
}

static void removed(const char *path) {
    for (int number = 0; number < known; number++)
        if (strcmp(files[number].path, path) == 0) files[number].path[0] = 0;
}

static void renamed(const char *path, const char *to) {
    removed(to);
    if (strlen(to) >= sizeof files[0].path) abort();
    for (int number = 0; number < known; number++)
        if (strcmp(files[number].path, path) == 0) strcpy(files[number].path, to);
}

static void fill_with_zeros(const char *path, off_t begin, off_t end) {
    int (*real)(const char *, int, ...) = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open64");
    static const char zeros[4096];
    int file = real(path, O_WRONLY);
    if (file < 0) abort();
    while (begin < end) {
        size_t count = end - begin < (off_t)sizeof zeros ? (size_t)(end - begin) : sizeof zeros;
        ssize_t written = pwrite(file, zeros, count, begin);
        if (written <= 0) abort();
        begin += written;
    }
}

static void cut_power(void) {
    const char *keeps = getenv("FAIL_KEEPS"), *seed = getenv("FAIL_SEED");
    unsigned long random = seed == NULL ? 0 : strtoul(seed, NULL, 10);
    for (int number = 0; number < known; number++) {
        const char *path = files[number].path;
        struct stat found;
        int is_kept = keeps != NULL && keeps[0] != 0 && strstr(path, keeps) != NULL;
        if (path[0] == 0 || is_kept || stat(path, &found) != 0) continue;
        // A file that was replaced below another name of its folder, such as an absolute one.
        if (found.st_dev != files[number].device || found.st_ino != files[number].inode) continue;
        if (found.st_size <= files[number].synced) continue;
        off_t synced = files[number].synced, left = synced;
        random = random * 6364136223846793005UL + 1442695040888963407UL;
        unsigned kind = seed == NULL ? 0 : random >> 62;
        if (kind == 1) continue;
        if (kind > 1) left += (off_t)((found.st_size - synced) * (double)(random >> 32 & 0xffff) / 0xffff);
        if (kind == 3) fill_with_zeros(path, left, found.st_size);
        else if (truncate(path, left) != 0) abort();
    }
}

static int is_below(const char *path) {
    const char *folder = getenv("FAIL_FOLDER");
    if (folder == NULL || path == NULL) return 0;
    if (path[0] != '/') return 1;
    size_t length = strlen(folder);
    return strncmp(path, folder, length) == 0 && (path[length] == '/' || path[length] == 0);
}

static int is_watched(int file) { return file >= 0 && file < MOST && watched[file]; }

#define REAL(name) __typeof__(&name) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

static void mark(void) {
    const char *path = getenv("FAIL_MARK");
    if (path == NULL) return;
    int (*real)(const char *, int, ...) = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open64");
    int (*shut)(int) = (int (*)(int))dlsym(RTLD_NEXT, "close");
    int file = real(path, O_CREAT | O_WRONLY, 0600);
    if (file >= 0) shut(file);
}

// What the next operation comes to. `takes_space` is whether a full disk refuses it.
static enum effect next(int takes_space) {
    const char *at = getenv("FAIL_AT"), *how = getenv("FAIL_HOW");
    long wanted = at == NULL ? 0 : atol(at), number = atomic_fetch_add(&operations, 1) + 1;
    if (how == NULL || wanted == 0 || number < wanted) return NONE;
    int is_full = strcmp(how, "full") == 0;
    if (number == wanted) mark();
    if (is_full && takes_space) {
        errno = ENOSPC;
        return FAIL;
    }
    if (is_full || number > wanted) return NONE;
    if (strcmp(how, "torn") == 0) return KILL;
    if (strcmp(how, "power") == 0) return CUT;
    errno = EIO;
    return FAIL;
}

static void end(enum effect effect) {
    if (effect == CUT) cut_power();
    if (effect == KILL || effect == CUT) kill(getpid(), SIGKILL);
    pthread_mutex_unlock(&one);
}

static int failed(void) {
    pthread_mutex_unlock(&one);
    return -1;
}

#define OPEN(name)                                                                     \
    int name(const char *path, int flags, ...) {                                       \
        int (*real)(const char *, int, ...) = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, #name); \
        va_list rest;                                                                  \
        va_start(rest, flags);                                                         \
        mode_t mode = (mode_t)va_arg(rest, int);                                       \
        va_end(rest);                                                                  \
        if (!is_below(path)) return real(path, flags, mode);                           \
        pthread_mutex_lock(&one);                                                      \
        enum effect effect = next(flags & O_CREAT);                                    \
        if (effect == FAIL) return failed();                                           \
        int file = real(path, flags, mode);                                            \
        int cause = errno;                                                             \
        if (file >= 0 && file < MOST) watched[file] = 1;                               \
        if (file >= 0) opened(file, path);                                             \
        end(effect);                                                                   \
        errno = cause;                                                                 \
        return file;                                                                   \
    }
OPEN(open)
OPEN(open64)

int close(int file) {
    REAL(close);
    if (file >= 0 && file < MOST) watched[file] = 0;
    return real(file);
}

ssize_t write(int file, const void *bytes, size_t count) {
    REAL(write);
    if (!is_watched(file)) return real(file, bytes, count);
    pthread_mutex_lock(&one);
    enum effect effect = next(1);
    if (effect == FAIL) return failed();
    ssize_t written = real(file, bytes, effect == KILL ? count / 2 : count);
    int cause = errno;
    end(effect);
    errno = cause;
    return written;
}

ssize_t read(int file, void *bytes, size_t count) {
    REAL(read);
    if (!is_watched(file)) return real(file, bytes, count);
    pthread_mutex_lock(&one);
    enum effect effect = next(0);
    if (effect == FAIL) return failed();
    end(effect);
    return real(file, bytes, count);
}

#define OF_FILE(name, arguments, pass, done)             \
    int name arguments {                                 \
        REAL(name);                                      \
        if (!is_watched(file)) return real pass;         \
        pthread_mutex_lock(&one);                        \
        enum effect effect = next(0);                    \
        if (effect == FAIL) return failed();             \
        int result = real pass, cause = errno;           \
        if (result == 0) done;                           \
        end(effect);                                     \
        errno = cause;                                   \
        return result;                                   \
    }
OF_FILE(fsync, (int file), (file), shortened_or_synced(file, 1))
OF_FILE(fdatasync, (int file), (file), shortened_or_synced(file, 1))
OF_FILE(ftruncate, (int file, off_t length), (file, length), shortened_or_synced(file, 0))
OF_FILE(ftruncate64, (int file, off64_t length), (file, length), shortened_or_synced(file, 0))
OF_FILE(flock, (int file, int operation), (file, operation), )

#define OF_PATH(name, arguments, pass, takes_space, done) \
    int name arguments {                                 \
        REAL(name);                                      \
        if (!is_below(path)) return real pass;           \
        pthread_mutex_lock(&one);                        \
        enum effect effect = next(takes_space);          \
        if (effect == FAIL) return failed();             \
        int result = real pass, cause = errno;           \
        if (result == 0) done;                           \
        end(effect);                                     \
        errno = cause;                                   \
        return result;                                   \
    }
OF_PATH(rename, (const char *path, const char *to), (path, to), 1, renamed(path, to))
OF_PATH(unlink, (const char *path), (path), 0, removed(path))
OF_PATH(mkdir, (const char *path, mode_t mode), (path, mode), 1, )
