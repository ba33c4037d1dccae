// Loaded into a process before the C library: all random numbers that the process asks for come from the seed in FLEET_ENTROPY, and no time
// passes, neither by the clock nor by the time of day. What waits there waits by another clock.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>

// The time of day, and that of the clock.
#define TODAY 1800000000
#define NOW 1000000

// Threads that have asked for random numbers.
static _Atomic uint64_t threads;
static __thread int is_begun;
static __thread uint64_t state;

// SplitMix64.
static uint64_t next(void) {
    uint64_t number = state += 0x9e3779b97f4a7c15u;
    number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9u;
    number = (number ^ (number >> 27)) * 0x94d049bb133111ebu;
    return number ^ (number >> 31);
}

static void begin(void) {
    if (is_begun) return;
    const char *seed = getenv("FLEET_ENTROPY");
    state = seed == NULL ? 0 : strtoull(seed, NULL, 10);
    // Seeds and threads that follow each other have numbers of their own.
    state = next() + atomic_fetch_add(&threads, 1);
    state = next();
    is_begun = 1;
}

ssize_t getrandom(void *buffer, size_t length, unsigned flags) {
    (void)flags;
    begin();
    for (size_t at = 0; at < length; at += sizeof(uint64_t)) {
        uint64_t number = next();
        size_t rest = length - at;
        memcpy((char *)buffer + at, &number, rest < sizeof number ? rest : sizeof number);
    }
    return (ssize_t)length;
}

int getentropy(void *buffer, size_t length) {
    getrandom(buffer, length, 0);
    return 0;
}

long syscall(long number, ...) {
    static long (*real_syscall)(long, ...);
    if (real_syscall == NULL) real_syscall = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
    va_list rest;
    long argument[6];
    va_start(rest, number);
    for (int index = 0; index < 6; index++) argument[index] = va_arg(rest, long);
    va_end(rest);
    if (number == SYS_getrandom) return getrandom((void *)argument[0], (size_t)argument[1], (unsigned)argument[2]);
    return real_syscall(number, argument[0], argument[1], argument[2], argument[3], argument[4], argument[5]);
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    *time = (struct timespec){.tv_sec = clock == CLOCK_REALTIME ? TODAY : NOW};
    return 0;
}
