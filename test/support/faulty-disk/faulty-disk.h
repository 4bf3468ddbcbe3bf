/*
 * A disk that fails when it is told to: a library for LD_PRELOAD that stands between a process and the file calls of glibc
 * (Linux). Tests use it through faulty-disk.ts, which compiles it.
 *
 * FAULTY_DISK_RULES names a file of rules, which is read again whenever it has been replaced. A rule is a line of
 *
 *   OPERATIONS PATH ACTION [skip=N] [times=N] [chance=P]
 *
 * OPERATIONS, separated by commas:
 *   open      opening a file to read it         create   opening a file in order to write it
 *   read      read, pread, readv ...            write    write, pwrite, writev ...
 *   sync      fsync, fdatasync                  map      mapping a file into memory
 *   rename, link, unlink, truncate, mkdir, rmdir
 *   statfs    asking how much room there is
 *   change    create, write, sync, rename, link, unlink, truncate, mkdir and rmdir
 *   any       all of them
 * PATH is a part of the path that the operation is about (of a rename or a link: of either path), or * for each. Sockets and pipes
 * are no files: no rule concerns them.
 * ACTION:
 *   ENOSPC, EIO, EROFS ...   the call fails with that error and does nothing
 *   short        a read or write moves half of its bytes, and says so
 *   room=BYTES   writes succeed for so many bytes; the one that meets the end is short, those after it fail with ENOSPC
 *   free=BYTES   statfs says that so much is free
 *   slow=MS      the call takes so much longer
 *   log          nothing, but see below
 *   kill         the process is killed (SIGKILL) before the call; kill-after: after it
 *   cut          the power goes before the call: see below; cut-after: after it
 *   torn         as cut, but the first of the writes that were not synced, as many as chance wills, are on the disk, and
 *                the last of them in part; torn-after
 * skip=N leaves the first N calls that match alone, times=N ends the rule after so many, chance=P (0 to 1) takes some, by
 * the seed FAULTY_DISK_SEED. Rules are asked in order; slow and log let those below them have their say.
 *
 * What a rule did is appended to the file of rules with .log at its end, a line for each call: ACTION OPERATION PATH.
 *
 * The power goes. FAULTY_DISK_FOLDER names a folder whose unsynced changes are remembered from the start of the process
 * on (in memory, and as links in the folder with .undo at its end), so that cut can take them back: what was written since
 * the last sync of its file, and files that were made, renamed or removed since the last sync of their folder. As on
 * ext4, XFS and Btrfs, a sync of a file that was just made keeps its name too. Then the process is killed.
 */

#ifndef FAULTY_DISK_H
#define FAULTY_DISK_H

#define _GNU_SOURCE
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum operation {
  OPEN = 1 << 0,
  CREATE = 1 << 1,
  READ = 1 << 2,
  WRITE = 1 << 3,
  SYNC = 1 << 4,
  MAP = 1 << 5,
  RENAME = 1 << 6,
  UNLINK = 1 << 7,
  TRUNCATE = 1 << 8,
  MKDIR = 1 << 9,
  RMDIR = 1 << 10,
  STATFS = 1 << 11,
  LINK = 1 << 12,
};

/* What the rules say about one call. */
struct verdict {
  /* Not 0: the call fails with it. */
  int error;
  /* The bytes that the call may move: at most those that were asked for. */
  size_t length;
  /* What statfs has to say, or -1. */
  long long free_bytes;
  /* What to do when the call is done: 0, or an enum ending. */
  int ending;
};

enum ending { KILLED = 1, CUT, TORN };

/* rules.c. calls.c and streams.c have the calls themselves. */
struct verdict judge(enum operation operation, const char *path, const char *other_path, size_t length);
/* Ends the process, if the verdict says so. */
void finish(struct verdict verdict);

/* undo.c: remembers what is not synced. All of them are cheap outside of FAULTY_DISK_FOLDER. */

/* Held from before a call that changes something until it has been noted. */
void undo_lock(void);
void undo_unlock(void);
bool undo_concerns(const char *path);
/* Before bytes are written or cut: notes those that are there from `offset` on. */
void undo_before_change(int fd, const char *path, off_t offset, size_t length);
/* Before a file is opened with O_TRUNC: notes all of it. */
void undo_before_truncating(const char *path);
void undo_after_create(const char *path);
void undo_after_mkdir(const char *path);
/* Keeps what will be removed or replaced; the result goes to the function after the call (false: it failed). */
char *undo_before_removal(const char *path);
void undo_after_unlink(const char *path, char *kept, bool is_done);
void undo_after_rename(const char *from, const char *to, char *kept, bool is_done);
/* A file or a folder was synced. */
void undo_after_sync(int fd, const char *path);
/* Takes back what is not synced: all of it, or all after a random point. The lock must be held, and is kept. */
void undo_all(bool is_torn);

/* A number from 0 to below 1. */
double chance(void);

#endif
