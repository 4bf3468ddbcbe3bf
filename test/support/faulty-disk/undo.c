/* What a power cut takes back: a list of the changes that are not synced, in order. See faulty-disk.h. */

#include "faulty-disk.h"

#include <fcntl.h>
#include <libgen.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAX_PATH 4096

enum kind { DATA, MADE, FOLDER_MADE, MOVED, REMOVED };

struct change {
  struct change *before;
  struct change *after;
  enum kind kind;
  char *path;
  /* MOVED: where to. */
  char *to;
  /* MOVED, REMOVED: a link to the file that is gone, or NULL. */
  char *kept;
  /* Which file: of DATA, MADE, and of what is kept. */
  ino_t file;
  /* DATA: the bytes at `offset` before the change, and the file's length before and after it. */
  off_t offset;
  size_t length;
  char *bytes;
  off_t old_size;
  off_t new_size;
};

/* Recursive: a cut may come while a change is being noted. */
static pthread_mutex_t mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static struct change *first = NULL;
static struct change *last = NULL;
static unsigned long kept_count = 0;

void undo_lock(void) { pthread_mutex_lock(&mutex); }

void undo_unlock(void) { pthread_mutex_unlock(&mutex); }

bool undo_concerns(const char *path) {
  const char *folder = getenv("FAULTY_DISK_FOLDER");
  if (folder == NULL) return false;
  size_t length = strlen(folder);
  return strncmp(path, folder, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

static struct change *append(enum kind kind, const char *path) {
  struct change *change = calloc(1, sizeof *change);
  change->kind = kind;
  change->path = strdup(path);
  change->before = last;
  if (last == NULL) first = change;
  else last->after = change;
  last = change;
  return change;
}

static void drop(struct change *change) {
  if (change->before == NULL) first = change->after;
  else change->before->after = change->after;
  if (change->after == NULL) last = change->before;
  else change->after->before = change->before;
  if (change->kept != NULL) syscall(SYS_unlinkat, AT_FDCWD, change->kept, 0);
  free(change->path);
  free(change->to);
  free(change->kept);
  free(change->bytes);
  free(change);
}

static bool is_in(const char *path, const char *folder) {
  char copy[MAX_PATH];
  snprintf(copy, sizeof copy, "%s", path);
  return strcmp(dirname(copy), folder) == 0;
}

void undo_before_change(int fd, const char *path, off_t offset, size_t length) {
  struct stat now;
  if (fstat(fd, &now) != 0) return;
  struct change *change = append(DATA, path);
  change->file = now.st_ino;
  change->offset = offset;
  change->old_size = now.st_size;
  change->new_size = offset + (off_t)length > now.st_size ? offset + (off_t)length : now.st_size;
  if (offset >= now.st_size) return;
  size_t there = (size_t)(now.st_size - offset);
  change->length = there < length ? there : length;
  change->bytes = malloc(change->length + 1);
  // The file may be open for writing only.
  int reading = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
  long got = syscall(SYS_pread64, reading, change->bytes, change->length, offset);
  if (got < 0 || (size_t)got < change->length) change->length = got < 0 ? 0 : (size_t)got;
  syscall(SYS_close, reading);
}

void undo_before_truncating(const char *path) {
  int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  struct stat now;
  if (fstat(fd, &now) == 0) undo_before_change(fd, path, 0, (size_t)now.st_size);
  syscall(SYS_close, fd);
}

static ino_t file_of(const char *path) {
  struct stat now;
  return stat(path, &now) == 0 ? now.st_ino : 0;
}

void undo_after_create(const char *path) {
  struct change *change = append(MADE, path);
  change->file = file_of(path);
}

void undo_after_mkdir(const char *path) { append(FOLDER_MADE, path); }

char *undo_before_removal(const char *path) {
  char name[MAX_PATH];
  snprintf(name, sizeof name, "%s.undo", getenv("FAULTY_DISK_FOLDER"));
  syscall(SYS_mkdirat, AT_FDCWD, name, 0700);
  snprintf(name, sizeof name, "%s.undo/%d-%lu", getenv("FAULTY_DISK_FOLDER"), (int)getpid(), kept_count++);
  if (syscall(SYS_linkat, AT_FDCWD, path, AT_FDCWD, name, 0) != 0) return NULL;
  return strdup(name);
}

static void keep(struct change *change, char *kept) {
  change->kept = kept;
  if (kept != NULL) change->file = file_of(kept);
}

static void forget(char *kept) {
  if (kept != NULL) syscall(SYS_unlinkat, AT_FDCWD, kept, 0);
  free(kept);
}

void undo_after_unlink(const char *path, char *kept, bool is_done) {
  if (is_done) keep(append(REMOVED, path), kept);
  else forget(kept);
}

void undo_after_rename(const char *from, const char *to, char *kept, bool is_done) {
  if (!is_done) return forget(kept);
  struct change *change = append(MOVED, from);
  change->to = strdup(to);
  keep(change, kept);
}

/* The file is gone for good: its other changes have nothing left to change. */
static void drop_file(ino_t file) {
  for (struct change *change = first, *next; change != NULL; change = next) {
    next = change->after;
    if (change->file == file && (change->kind == DATA || change->kind == MADE)) drop(change);
  }
}

/* What happened under the old name happened to the file of the new one. */
static void follow(const struct change *move) {
  for (struct change *change = move->before; change != NULL; change = change->before) {
    if (strcmp(change->path, move->path) != 0) continue;
    free(change->path);
    change->path = strdup(move->to);
  }
}

void undo_after_sync(int fd, const char *path) {
  struct stat now;
  if (fstat(fd, &now) != 0) return;
  bool again = true;
  while (again) {
    again = false;
    for (struct change *change = first; change != NULL && !again; change = change->after) {
      bool of_file = change->file == now.st_ino && (change->kind == DATA || change->kind == MADE);
      bool of_folder = S_ISDIR(now.st_mode) && change->kind != DATA &&
                       (is_in(change->path, path) || (change->to != NULL && is_in(change->to, path)));
      if (!of_file && !of_folder) continue;
      if (change->kind == MOVED) follow(change);
      ino_t gone = change->kept == NULL ? 0 : change->file;
      drop(change);
      if (gone != 0) drop_file(gone);
      again = true;
    }
  }
}

static void take_back_data(const struct change *change) {
  int fd = (int)syscall(SYS_openat, AT_FDCWD, change->path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return;
  syscall(SYS_ftruncate, fd, change->old_size);
  if (change->length > 0) syscall(SYS_pwrite64, fd, change->bytes, change->length, change->offset);
  syscall(SYS_close, fd);
}

static void take_back(const struct change *change) {
  switch (change->kind) {
    case DATA:
      take_back_data(change);
      break;
    case MADE:
      syscall(SYS_unlinkat, AT_FDCWD, change->path, 0);
      break;
    case FOLDER_MADE:
      syscall(SYS_unlinkat, AT_FDCWD, change->path, AT_REMOVEDIR);
      break;
    case MOVED:
      syscall(SYS_renameat, AT_FDCWD, change->to, AT_FDCWD, change->path);
      if (change->kept != NULL) syscall(SYS_renameat, AT_FDCWD, change->kept, AT_FDCWD, change->to);
      break;
    case REMOVED:
      if (change->kept != NULL) syscall(SYS_renameat, AT_FDCWD, change->kept, AT_FDCWD, change->path);
      break;
  }
}

/* A write that made its file longer, cut somewhere in the middle. */
static void tear(const struct change *change) {
  if (change->kind != DATA || change->new_size <= change->old_size) return;
  off_t left = change->old_size + (off_t)(chance() * (double)(change->new_size - change->old_size));
  int fd = (int)syscall(SYS_openat, AT_FDCWD, change->path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return;
  syscall(SYS_ftruncate, fd, left);
  syscall(SYS_close, fd);
}

void undo_all(bool is_torn) {
  long count = 0;
  for (const struct change *change = first; change != NULL; change = change->after) count++;
  long stays = is_torn ? (long)(chance() * (double)(count + 1)) : 0;
  for (const struct change *change = last; change != NULL; change = change->before) {
    if (count-- > stays) take_back(change);
    else {
      tear(change);
      break;
    }
  }
}
