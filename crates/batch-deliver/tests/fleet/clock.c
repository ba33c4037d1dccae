// Loaded into the program before the C library: its monotonic clock runs faster, and what it waits for by that clock comes sooner.
// The time of day stays.
//
// CLOCK_SPEED  how many thousandths of a second pass in one
// CLOCK_JUMP   "AT BY": when so many milliseconds have really passed, the clock is so many milliseconds further
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SECOND 1000000000LL

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int (*real_gettime)(clockid_t, struct timespec *);
static long (*real_syscall)(long, ...);
static int (*real_epoll_wait)(int, struct epoll_event *, int, int);
static int (*real_clock_nanosleep)(clockid_t, int, const struct timespec *, struct timespec *);
// The real time of the start, and after which real time the clock jumps, and by how much.
static int64_t start, jumps_after = INT64_MAX, jumps_by;
static int64_t speed = 1000;

static int64_t nanoseconds(const struct timespec *time) { return time->tv_sec * SECOND + time->tv_nsec; }

static struct timespec timespec_of(int64_t nanoseconds) {
    if (nanoseconds < 0) nanoseconds = 0;
    return (struct timespec){.tv_sec = nanoseconds / SECOND, .tv_nsec = nanoseconds % SECOND};
}

static void begin(void) {
    real_gettime = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    real_syscall = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
    real_epoll_wait = (int (*)(int, struct epoll_event *, int, int))dlsym(RTLD_NEXT, "epoll_wait");
    real_clock_nanosleep =
        (int (*)(clockid_t, int, const struct timespec *, struct timespec *))dlsym(RTLD_NEXT, "clock_nanosleep");
    struct timespec now;
    real_gettime(CLOCK_MONOTONIC, &now);
    start = nanoseconds(&now);
    const char *wanted = getenv("CLOCK_SPEED"), *jump = getenv("CLOCK_JUMP");
    if (wanted != NULL && atol(wanted) > 0) speed = atol(wanted);
    if (jump != NULL) {
        char *rest;
        jumps_after = strtoll(jump, &rest, 10) * 1000000;
        jumps_by = strtoll(rest, NULL, 10) * 1000000;
    }
}

// The time of the fast clock at this real time, and the real time at which the fast clock has this time.
static int64_t fast(int64_t real) {
    int64_t passed = real - start;
    return start + passed * speed / 1000 + (passed >= jumps_after ? jumps_by : 0);
}

static int64_t real_of(int64_t fast) {
    int64_t passed = (fast - start) * 1000 / speed;
    if (passed < jumps_after) return start + passed;
    passed = (fast - start - jumps_by) * 1000 / speed;
    return start + (passed < jumps_after ? jumps_after : passed);
}

static int is_monotonic(clockid_t clock) {
    return clock == CLOCK_MONOTONIC || clock == CLOCK_MONOTONIC_RAW || clock == CLOCK_MONOTONIC_COARSE || clock == CLOCK_BOOTTIME;
}

// How long a wait really takes, rounded up.
static int64_t shorter(int64_t nanoseconds) { return (nanoseconds * 1000 + speed - 1) / speed; }

int clock_gettime(clockid_t clock, struct timespec *time) {
    pthread_once(&once, begin);
    int result = real_gettime(clock, time);
    if (result == 0 && is_monotonic(clock)) *time = timespec_of(fast(nanoseconds(time)));
    return result;
}

long syscall(long number, ...) {
    pthread_once(&once, begin);
    va_list rest;
    long argument[6];
    va_start(rest, number);
    for (int index = 0; index < 6; index++) argument[index] = va_arg(rest, long);
    va_end(rest);
    struct timespec until;
    if (number == SYS_futex && argument[3] != 0) {
        const struct timespec *wanted = (const struct timespec *)argument[3];
        int operation = (int)argument[1], command = operation & FUTEX_CMD_MASK;
        if (command == FUTEX_WAIT) {
            until = timespec_of(shorter(nanoseconds(wanted)));
            argument[3] = (long)&until;
        } else if (command == FUTEX_WAIT_BITSET && !(operation & FUTEX_CLOCK_REALTIME)) {
            until = timespec_of(real_of(nanoseconds(wanted)));
            argument[3] = (long)&until;
        }
    }
    return real_syscall(number, argument[0], argument[1], argument[2], argument[3], argument[4], argument[5]);
}

int epoll_wait(int epoll, struct epoll_event *events, int most, int milliseconds) {
    pthread_once(&once, begin);
    if (milliseconds <= 0) return real_epoll_wait(epoll, events, most, milliseconds);
    int64_t wait = shorter((int64_t)milliseconds * 1000000);
#ifdef SYS_epoll_pwait2
    struct timespec time = timespec_of(wait);
    long result = real_syscall(SYS_epoll_pwait2, epoll, events, most, &time, NULL, 0);
    if (result >= 0 || errno != ENOSYS) return (int)result;
#endif
    return real_epoll_wait(epoll, events, most, (int)((wait + 999999) / 1000000));
}

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *wanted, struct timespec *left) {
    pthread_once(&once, begin);
    if (!is_monotonic(clock)) return real_clock_nanosleep(clock, flags, wanted, left);
    int64_t time = nanoseconds(wanted);
    struct timespec wait = timespec_of(flags & TIMER_ABSTIME ? real_of(time) : shorter(time));
    return real_clock_nanosleep(clock, flags, &wait, left);
}

int nanosleep(const struct timespec *wanted, struct timespec *left) {
    int error = clock_nanosleep(CLOCK_MONOTONIC, 0, wanted, left);
    if (error == 0) return 0;
    errno = error;
    return -1;
}
