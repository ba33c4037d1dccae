// Loaded into the program before the C library: counts what it does with the files of one folder, and lets one operation fail.
//
// FAIL_FOLDER  the folder, an absolute path; relative paths are below it
// FAIL_AT      which operation fails, from 1; 0 for none
// FAIL_HOW     error: it fails with EIO; full: it and all later ones that need space fail with ENOSPC; torn: half of a write is
//              done, or all of another operation, and the process is killed
// FAIL_MARK    a file that is created when it happens
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/types.h>
#include <unistd.h>

#define MOST 65536
static atomic_char watched[MOST];
static atomic_long operations;

enum effect { NONE, FAIL, KILL };

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
    errno = EIO;
    return FAIL;
}

static void end(enum effect effect) {
    if (effect == KILL) kill(getpid(), SIGKILL);
}

#define OPEN(name)                                                                     \
    int name(const char *path, int flags, ...) {                                       \
        int (*real)(const char *, int, ...) = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, #name); \
        va_list rest;                                                                  \
        va_start(rest, flags);                                                         \
        mode_t mode = (mode_t)va_arg(rest, int);                                       \
        va_end(rest);                                                                  \
        if (!is_below(path)) return real(path, flags, mode);                           \
        enum effect effect = next(flags & O_CREAT);                                    \
        if (effect == FAIL) return -1;                                                 \
        int file = real(path, flags, mode);                                            \
        if (file >= 0 && file < MOST) watched[file] = 1;                               \
        end(effect);                                                                   \
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
    enum effect effect = next(1);
    if (effect == FAIL) return -1;
    ssize_t written = real(file, bytes, effect == KILL ? count / 2 : count);
    end(effect);
    return written;
}

ssize_t read(int file, void *bytes, size_t count) {
    REAL(read);
    if (!is_watched(file)) return real(file, bytes, count);
    enum effect effect = next(0);
    if (effect == FAIL) return -1;
    end(effect);
    return real(file, bytes, count);
}

#define OF_FILE(name, arguments, pass)                   \
    int name arguments {                                 \
        REAL(name);                                      \
        if (!is_watched(file)) return real pass;         \
        enum effect effect = next(0);                    \
        if (effect == FAIL) return -1;                   \
        int result = real pass;                          \
        end(effect);                                     \
        return result;                                   \
    }
OF_FILE(fsync, (int file), (file))
OF_FILE(fdatasync, (int file), (file))
OF_FILE(ftruncate, (int file, off_t length), (file, length))
OF_FILE(ftruncate64, (int file, off64_t length), (file, length))
OF_FILE(flock, (int file, int operation), (file, operation))

#define OF_PATH(name, arguments, pass, takes_space)      \
    int name arguments {                                 \
        REAL(name);                                      \
        if (!is_below(path)) return real pass;           \
        enum effect effect = next(takes_space);          \
        if (effect == FAIL) return -1;                   \
        int result = real pass;                          \
        end(effect);                                     \
        return result;                                   \
    }
OF_PATH(rename, (const char *path, const char *to), (path, to), 1)
OF_PATH(unlink, (const char *path), (path), 0)
OF_PATH(mkdir, (const char *path, mode_t mode), (path, mode), 1)
