/*
 * Streams (FILE): LevelDB writes its logs and tables through them, and what glibc does inside of them cannot be replaced. So
 * fopen gives a stream that calls read() and write() of this library. See faulty-disk.h.
 */

#include "faulty-disk.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_STREAMS 4096

struct stream {
  FILE *file;
  int fd;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct stream streams[MAX_STREAMS];

static ssize_t read_stream(void *cookie, char *to, size_t length) { return read(((struct stream *)cookie)->fd, to, length); }

/* As glibc does: goes on after a short write, and ends at an error. */
static ssize_t write_stream(void *cookie, const char *from, size_t length) {
  size_t done = 0;
  while (done < length) {
    ssize_t written = write(((struct stream *)cookie)->fd, from + done, length - done);
    if (written <= 0) break;
    done += (size_t)written;
  }
  return (ssize_t)done;
}

static int seek_stream(void *cookie, off64_t *offset, int whence) {
  off_t place = lseek(((struct stream *)cookie)->fd, *offset, whence);
  if (place < 0) return -1;
  *offset = place;
  return 0;
}

static int close_stream(void *cookie) {
  struct stream *stream = cookie;
  int fd = stream->fd;
  pthread_mutex_lock(&mutex);
  stream->file = NULL;
  pthread_mutex_unlock(&mutex);
  return close(fd);
}

static struct stream *free_stream(void) {
  for (int i = 0; i < MAX_STREAMS; i++) {
    if (streams[i].file == NULL) return &streams[i];
  }
  return NULL;
}

FILE *fopen(const char *path, const char *mode) {
  int flags = strchr(mode, '+') != NULL ? O_RDWR : mode[0] == 'r' ? O_RDONLY : O_WRONLY;
  if (mode[0] != 'r') flags |= O_CREAT | (mode[0] == 'a' ? O_APPEND : O_TRUNC);
  if (strchr(mode, 'e') != NULL) flags |= O_CLOEXEC;
  int fd = open(path, flags, 0666);
  if (fd < 0) return NULL;
  pthread_mutex_lock(&mutex);
  struct stream *stream = free_stream();
  if (stream != NULL) {
    stream->fd = fd;
    stream->file = fopencookie(stream, mode, (cookie_io_functions_t){read_stream, write_stream, seek_stream, close_stream});
  }
  pthread_mutex_unlock(&mutex);
  if (stream != NULL && stream->file != NULL) return stream->file;
  close(fd);
  errno = EMFILE;
  return NULL;
}

FILE *fopen64(const char *path, const char *mode) { return fopen(path, mode); }

/* A stream of fopencookie has no descriptor of its own. */
int fileno(FILE *file) {
  static __typeof__(fileno) *real = NULL;
  if (real == NULL) real = (__typeof__(fileno) *)dlsym(RTLD_NEXT, "fileno");
  int fd = -1;
  pthread_mutex_lock(&mutex);
  for (int i = 0; i < MAX_STREAMS && fd < 0; i++) {
    if (streams[i].file == file) fd = streams[i].fd;
  }
  pthread_mutex_unlock(&mutex);
  return fd < 0 ? real(file) : fd;
}

int fileno_unlocked(FILE *file) { return fileno(file); }
