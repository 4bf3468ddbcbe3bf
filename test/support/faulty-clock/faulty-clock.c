/*
 * A clock that jumps when it is told to: a library for LD_PRELOAD that adds an offset to the time of day of a process
 * (Linux with glibc). FAULTY_CLOCK_FILE names a file of 8 bytes: the offset in milliseconds, a little-endian integer. What
 * is written to it holds at once. Monotonic clocks go on as they do when the time of a machine is set.
 */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile long long none = 0;
static const volatile long long *offset = NULL;

static long long offset_ms(void) {
  if (offset != NULL) return *offset;
  const char *name = getenv("FAULTY_CLOCK_FILE");
  int fd = name == NULL ? -1 : open(name, O_RDONLY | O_CLOEXEC);
  void *mapped = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof none, PROT_READ, MAP_SHARED, fd, 0);
  if (fd >= 0) close(fd);
  offset = mapped == MAP_FAILED ? &none : mapped;
  return *offset;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  static __typeof__(clock_gettime) *real = NULL;
  if (real == NULL) real = (__typeof__(clock_gettime) *)dlsym(RTLD_NEXT, "clock_gettime");
  int result = real(clock, now);
  if (result != 0 || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE)) return result;
  long long ms = offset_ms();
  now->tv_sec += ms / 1000;
  now->tv_nsec += ms % 1000 * 1000000;
  if (now->tv_nsec >= 1000000000) {
    now->tv_nsec -= 1000000000;
    now->tv_sec += 1;
  } else if (now->tv_nsec < 0) {
    now->tv_nsec += 1000000000;
    now->tv_sec -= 1;
  }
  return result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  (void)zone;
  struct timespec precise;
  int result = clock_gettime(CLOCK_REALTIME, &precise);
  now->tv_sec = precise.tv_sec;
  now->tv_usec = precise.tv_nsec / 1000;
  return result;
}

time_t time(time_t *now) {
  struct timespec precise;
  clock_gettime(CLOCK_REALTIME, &precise);
  if (now != NULL) *now = precise.tv_sec;
  return precise.tv_sec;
}
