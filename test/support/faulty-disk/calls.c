/* The file calls of glibc as the faulty disk answers them. See faulty-disk.h. */

#include "faulty-disk.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/uio.h>
#include <unistd.h>

#define MAX_VECTORS 1024

/* The next function of this name: that of glibc. */
#define REAL(name) \
  static __typeof__(name) *real = NULL; \
  if (real == NULL) real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

/* The path of an open file; false for what is no file. */
static bool path_of(int fd, char path[PATH_MAX]) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, PATH_MAX - 1);
  if (length <= 0 || path[0] != '/') return false;
  path[length] = '\0';
  return strncmp(path, "/dev/", 5) != 0 && strncmp(path, "/proc/", 6) != 0;
}

static const char *absolute(const char *path, char whole[PATH_MAX]) {
  if (path[0] == '/') return path;
  char folder[PATH_MAX];
  if (getcwd(folder, sizeof folder) == NULL) return path;
  size_t length = strlen(folder);
  memcpy(whole, folder, length);
  snprintf(whole + length, PATH_MAX - length, "/%s", path);
  return whole;
}

static int refused(struct verdict verdict) {
  errno = verdict.error;
  return -1;
}

/* After a call: ends the process, or gives back the result with its errno. */
#define DONE(result) \
  do { \
    int kept_error = errno; \
    finish(verdict); \
    errno = kept_error; \
    return result; \
  } while (0)

typedef int (*openat_call)(int, const char *, int, ...);

static int faulty_open(openat_call real, int folder, const char *path, int flags, mode_t mode) {
  char whole[PATH_MAX];
  const char *name = folder == AT_FDCWD ? absolute(path, whole) : path;
  bool is_writing = (flags & O_ACCMODE) != O_RDONLY || (flags & (O_CREAT | O_TRUNC)) != 0;
  struct verdict verdict = judge(is_writing ? CREATE : OPEN, name, NULL, 0);
  if (verdict.error != 0) return refused(verdict);
  bool is_noted = is_writing && undo_concerns(name);
  if (is_noted) undo_lock();
  bool is_new = is_noted && access(name, F_OK) != 0;
  if (is_noted && !is_new && (flags & O_TRUNC) != 0) undo_before_truncating(name);
  int fd = real(folder, path, flags, mode);
  if (is_new && fd >= 0) undo_after_create(name);
  if (is_noted) undo_unlock();
  DONE(fd);
}

#define OPEN_MODE() \
  mode_t mode = 0; \
  if ((flags & (O_CREAT | O_TMPFILE)) != 0) { \
    va_list list; \
    va_start(list, flags); \
    mode = va_arg(list, mode_t); \
    va_end(list); \
  }

int open(const char *path, int flags, ...) {
  OPEN_MODE()
  REAL(openat);
  return faulty_open(real, AT_FDCWD, path, flags, mode);
}

int open64(const char *path, int flags, ...) {
  OPEN_MODE()
  REAL(openat64);
  return faulty_open(real, AT_FDCWD, path, flags, mode);
}

int openat(int folder, const char *path, int flags, ...) {
  OPEN_MODE()
  REAL(openat);
  return faulty_open(real, folder, path, flags, mode);
}

int openat64(int folder, const char *path, int flags, ...) {
  OPEN_MODE()
  REAL(openat64);
  return faulty_open(real, folder, path, flags, mode);
}

/* The first `length` bytes of what the vectors name. */
static int cut_vectors(const struct iovec *from, int count, size_t length, struct iovec *to) {
  int used = 0;
  for (; used < count && used < MAX_VECTORS && length > 0; used++) {
    to[used] = from[used];
    if (to[used].iov_len > length) to[used].iov_len = length;
    length -= to[used].iov_len;
  }
  return used;
}

static size_t bytes_of(const struct iovec *vectors, int count) {
  size_t sum = 0;
  for (int i = 0; i < count; i++) sum += vectors[i].iov_len;
  return sum;
}

typedef ssize_t (*vector_call)(int, const struct iovec *, int, off_t);

static ssize_t at_place_read(int fd, const struct iovec *vectors, int count, off_t unused) {
  (void)unused;
  REAL(readv);
  return real(fd, vectors, count);
}

static ssize_t at_place_write(int fd, const struct iovec *vectors, int count, off_t unused) {
  (void)unused;
  REAL(writev);
  return real(fd, vectors, count);
}

static ssize_t at_offset_read(int fd, const struct iovec *vectors, int count, off_t offset) {
  REAL(preadv);
  return real(fd, vectors, count, offset);
}

static ssize_t at_offset_write(int fd, const struct iovec *vectors, int count, off_t offset) {
  REAL(pwritev);
  return real(fd, vectors, count, offset);
}

/* Where a write goes that names no offset. */
static off_t place_of(int fd) {
  struct stat now;
  if ((fcntl(fd, F_GETFL) & O_APPEND) != 0 && fstat(fd, &now) == 0) return now.st_size;
  return lseek(fd, 0, SEEK_CUR);
}

/* Every read and write ends here; `offset` is -1 for one at the place of the file. */
static ssize_t transfer(enum operation operation, int fd, const struct iovec *vectors, int count, off_t offset) {
  vector_call real = operation == READ ? (offset < 0 ? at_place_read : at_offset_read)
                                       : (offset < 0 ? at_place_write : at_offset_write);
  char path[PATH_MAX];
  if (!path_of(fd, path)) return real(fd, vectors, count, offset);
  struct verdict verdict = judge(operation, path, NULL, bytes_of(vectors, count));
  if (verdict.error != 0) return refused(verdict);
  struct iovec allowed[MAX_VECTORS];
  int used = cut_vectors(vectors, count, verdict.length, allowed);
  bool is_noted = operation == WRITE && undo_concerns(path);
  if (is_noted) {
    undo_lock();
    undo_before_change(fd, path, offset < 0 ? place_of(fd) : offset, verdict.length);
  }
  ssize_t result = real(fd, allowed, used, offset);
  if (is_noted) undo_unlock();
  DONE(result);
}

static ssize_t transfer_one(enum operation operation, int fd, const void *bytes, size_t length, off_t offset) {
  struct iovec vector = {.iov_base = (void *)bytes, .iov_len = length};
  return transfer(operation, fd, &vector, 1, offset);
}

ssize_t read(int fd, void *to, size_t length) { return transfer_one(READ, fd, to, length, -1); }
ssize_t pread(int fd, void *to, size_t length, off_t offset) { return transfer_one(READ, fd, to, length, offset); }
ssize_t pread64(int fd, void *to, size_t length, off64_t offset) { return transfer_one(READ, fd, to, length, offset); }
ssize_t readv(int fd, const struct iovec *to, int count) { return transfer(READ, fd, to, count, -1); }
ssize_t preadv(int fd, const struct iovec *to, int count, off_t offset) { return transfer(READ, fd, to, count, offset); }
ssize_t preadv64(int fd, const struct iovec *to, int count, off64_t offset) {
  return transfer(READ, fd, to, count, offset);
}
ssize_t write(int fd, const void *from, size_t length) { return transfer_one(WRITE, fd, from, length, -1); }
ssize_t pwrite(int fd, const void *from, size_t length, off_t offset) {
  return transfer_one(WRITE, fd, from, length, offset);
}
ssize_t pwrite64(int fd, const void *from, size_t length, off64_t offset) {
  return transfer_one(WRITE, fd, from, length, offset);
}
ssize_t writev(int fd, const struct iovec *from, int count) { return transfer(WRITE, fd, from, count, -1); }
ssize_t pwritev(int fd, const struct iovec *from, int count, off_t offset) {
  return transfer(WRITE, fd, from, count, offset);
}
ssize_t pwritev64(int fd, const struct iovec *from, int count, off64_t offset) {
  return transfer(WRITE, fd, from, count, offset);
}

static int faulty_sync(int (*real)(int), int fd) {
  char path[PATH_MAX];
  if (!path_of(fd, path)) return real(fd);
  struct verdict verdict = judge(SYNC, path, NULL, 0);
  if (verdict.error != 0) return refused(verdict);
  bool is_noted = undo_concerns(path);
  if (is_noted) undo_lock();
  int result = real(fd);
  if (is_noted && result == 0) undo_after_sync(fd, path);
  if (is_noted) undo_unlock();
  DONE(result);
}

int fsync(int fd) {
  REAL(fsync);
  return faulty_sync(real, fd);
}

int fdatasync(int fd) {
  REAL(fdatasync);
  return faulty_sync(real, fd);
}

int ftruncate(int fd, off_t length) {
  REAL(ftruncate);
  char path[PATH_MAX];
  if (!path_of(fd, path)) return real(fd, length);
  struct verdict verdict = judge(TRUNCATE, path, NULL, 0);
  if (verdict.error != 0) return refused(verdict);
  bool is_noted = undo_concerns(path);
  if (is_noted) {
    struct stat now;
    undo_lock();
    size_t tail = fstat(fd, &now) == 0 && now.st_size > length ? (size_t)(now.st_size - length) : 0;
    undo_before_change(fd, path, length, tail);
  }
  int result = real(fd, length);
  if (is_noted) undo_unlock();
  DONE(result);
}

int ftruncate64(int fd, off64_t length) { return ftruncate(fd, length); }

int rename(const char *from, const char *to) {
  REAL(rename);
  char whole_from[PATH_MAX];
  char whole_to[PATH_MAX];
  from = absolute(from, whole_from);
  to = absolute(to, whole_to);
  struct verdict verdict = judge(RENAME, from, to, 0);
  if (verdict.error != 0) return refused(verdict);
  bool is_noted = undo_concerns(from) || undo_concerns(to);
  if (is_noted) undo_lock();
  char *kept = is_noted ? undo_before_removal(to) : NULL;
  int result = real(from, to);
  if (is_noted) {
    undo_after_rename(from, to, kept, result == 0);
    undo_unlock();
  }
  DONE(result);
}

int link(const char *from, const char *to) {
  REAL(link);
  char whole_from[PATH_MAX];
  char whole_to[PATH_MAX];
  from = absolute(from, whole_from);
  to = absolute(to, whole_to);
  struct verdict verdict = judge(LINK, to, from, 0);
  if (verdict.error != 0) return refused(verdict);
  bool is_noted = undo_concerns(to);
  if (is_noted) undo_lock();
  int result = real(from, to);
  if (is_noted) {
    if (result == 0) undo_after_create(to);
    undo_unlock();
  }
  DONE(result);
}

int unlink(const char *path) {
  REAL(unlink);
  char whole[PATH_MAX];
  path = absolute(path, whole);
  struct verdict verdict = judge(UNLINK, path, NULL, 0);
  if (verdict.error != 0) return refused(verdict);
  bool is_noted = undo_concerns(path);
  if (is_noted) undo_lock();
  char *kept = is_noted ? undo_before_removal(path) : NULL;
  int result = real(path);
  if (is_noted) {
    undo_after_unlink(path, kept, result == 0);
    undo_unlock();
  }
  DONE(result);
}

int mkdir(const char *path, mode_t mode) {
  REAL(mkdir);
  char whole[PATH_MAX];
  path = absolute(path, whole);
  struct verdict verdict = judge(MKDIR, path, NULL, 0);
  if (verdict.error != 0) return refused(verdict);
  int result = real(path, mode);
  if (result == 0 && undo_concerns(path)) {
    undo_lock();
    undo_after_mkdir(path);
    undo_unlock();
  }
  DONE(result);
}

int rmdir(const char *path) {
  REAL(rmdir);
  struct verdict verdict = judge(RMDIR, path, NULL, 0);
  if (verdict.error != 0) return refused(verdict);
  int result = real(path);
  DONE(result);
}

int statfs(const char *path, struct statfs *to) {
  REAL(statfs);
  struct verdict verdict = judge(STATFS, path, NULL, 0);
  if (verdict.error != 0) return refused(verdict);
  int result = real(path, to);
  if (result == 0 && verdict.free_bytes >= 0 && to->f_bsize > 0) {
    to->f_bavail = (unsigned long long)verdict.free_bytes / (unsigned long long)to->f_bsize;
    to->f_bfree = to->f_bavail;
  }
  DONE(result);
}

int statfs64(const char *path, struct statfs64 *to) { return statfs(path, (struct statfs *)to); }

void *mmap(void *address, size_t length, int protection, int flags, int fd, off_t offset) {
  REAL(mmap);
  char path[PATH_MAX];
  if (fd < 0 || !path_of(fd, path)) return real(address, length, protection, flags, fd, offset);
  struct verdict verdict = judge(MAP, path, NULL, 0);
  if (verdict.error != 0) {
    errno = verdict.error;
    return MAP_FAILED;
  }
  void *result = real(address, length, protection, flags, fd, offset);
  DONE(result);
}

void *mmap64(void *address, size_t length, int protection, int flags, int fd, off64_t offset) {
  return mmap(address, length, protection, flags, fd, offset);
}
