/* The rules of the faulty disk: reading them, and what they say about a call. See faulty-disk.h. */

#include "faulty-disk.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MAX_RULES 64
#define MAX_TEXT 512
#define MAX_FILE 32768

enum action { FAIL, SHORT, ROOM, FREE, SLOW, LOG, KILL, KILL_AFTER, CUT_NOW, CUT_AFTER, TORN_NOW, TORN_AFTER };

struct rule {
  unsigned operations;
  char path[MAX_TEXT];
  enum action action;
  char name[32];
  int error;
  /* Of room, free and slow. */
  long long amount;
  long long skip;
  long long times;
  double chance;
};

struct name {
  const char *name;
  int value;
};

static const struct name OPERATIONS[] = {
    {"open", OPEN},     {"create", CREATE},     {"read", READ},   {"write", WRITE}, {"sync", SYNC},
    {"map", MAP},       {"rename", RENAME},     {"unlink", UNLINK}, {"truncate", TRUNCATE},
    {"mkdir", MKDIR},   {"rmdir", RMDIR},       {"statfs", STATFS},   {"link", LINK},
    {"change", CREATE | WRITE | SYNC | RENAME | LINK | UNLINK | TRUNCATE | MKDIR | RMDIR},
    {"any", ~0},        {NULL, 0}};

static const struct name ERRORS[] = {
    {"ENOSPC", ENOSPC}, {"EIO", EIO},       {"EMFILE", EMFILE}, {"ENFILE", ENFILE}, {"EROFS", EROFS}, {"EACCES", EACCES},
    {"EPERM", EPERM},   {"EDQUOT", EDQUOT}, {"EFBIG", EFBIG},   {"ENOMEM", ENOMEM}, {"EINTR", EINTR}, {"ENOENT", ENOENT},
    {NULL, 0}};

static const struct name ACTIONS[] = {
    {"short", SHORT},         {"room", ROOM}, {"free", FREE},           {"slow", SLOW},     {"log", LOG},
    {"kill", KILL},           {"kill-after", KILL_AFTER}, {"cut", CUT_NOW}, {"cut-after", CUT_AFTER},
    {"torn", TORN_NOW},       {"torn-after", TORN_AFTER}, {NULL, 0}};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct rule rules[MAX_RULES];
static int rule_count = 0;
static struct stat read_version;
static unsigned long long random_state = 0;

static int find(const struct name *names, const char *name) {
  for (; names->name != NULL; names++) {
    if (strcmp(names->name, name) == 0) return names->value;
  }
  return -1;
}

static const char *name_of(enum operation operation) {
  for (const struct name *entry = OPERATIONS; entry->name != NULL; entry++) {
    if (entry->value == (int)operation) return entry->name;
  }
  return "";
}

double chance(void) {
  if (random_state == 0) {
    const char *seed = getenv("FAULTY_DISK_SEED");
    random_state = (seed == NULL ? 1 : strtoull(seed, NULL, 10)) * 2654435769u + 88172645463325252ull;
  }
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return (double)(random_state >> 11) / (double)(1ull << 53);
}

/* A mistake in a rule must not pass for a disk without faults. */
static void refuse(const char *line) {
  fprintf(stderr, "faulty-disk: a rule cannot be read: %s\n", line);
  _exit(99);
}

static void read_rule(char *line) {
  char all[MAX_TEXT];
  snprintf(all, sizeof all, "%s", line);
  char *rest = line;
  char *operations = strtok_r(rest, " \t", &rest);
  char *path = strtok_r(rest, " \t", &rest);
  char *action = strtok_r(rest, " \t", &rest);
  if (operations == NULL || operations[0] == '#') return;
  if (action == NULL || rule_count == MAX_RULES) refuse(all);
  struct rule rule = {.skip = 0, .times = -1, .chance = 1};
  char *names = operations;
  for (char *name = strtok_r(names, ",", &names); name != NULL; name = strtok_r(names, ",", &names)) {
    int operation = find(OPERATIONS, name);
    if (operation == -1 && strcmp(name, "any") != 0) refuse(all);
    rule.operations |= (unsigned)operation;
  }
  snprintf(rule.path, sizeof rule.path, "%s", path);
  char *amount = strchr(action, '=');
  if (amount != NULL) {
    *amount = '\0';
    rule.amount = strtoll(amount + 1, NULL, 10);
  }
  snprintf(rule.name, sizeof rule.name, "%s", action);
  rule.error = find(ERRORS, action);
  rule.action = rule.error == -1 ? find(ACTIONS, action) : FAIL;
  if (rule.error == -1 && find(ACTIONS, action) == -1) refuse(all);
  for (char *option = strtok_r(rest, " \t", &rest); option != NULL; option = strtok_r(rest, " \t", &rest)) {
    if (strncmp(option, "skip=", 5) == 0) rule.skip = strtoll(option + 5, NULL, 10);
    else if (strncmp(option, "times=", 6) == 0) rule.times = strtoll(option + 6, NULL, 10);
    else if (strncmp(option, "chance=", 7) == 0) rule.chance = strtod(option + 7, NULL);
    else refuse(all);
  }
  rules[rule_count++] = rule;
}

/* Reads the rules again, if their file is another than before. Counts begin anew then. */
static void refresh(void) {
  const char *file = getenv("FAULTY_DISK_RULES");
  struct stat now;
  if (file == NULL || stat(file, &now) != 0) {
    rule_count = 0;
    return;
  }
  if (now.st_ino == read_version.st_ino && now.st_mtim.tv_sec == read_version.st_mtim.tv_sec &&
      now.st_mtim.tv_nsec == read_version.st_mtim.tv_nsec && now.st_size == read_version.st_size) {
    return;
  }
  read_version = now;
  rule_count = 0;
  static char text[MAX_FILE];
  int fd = (int)syscall(SYS_openat, AT_FDCWD, file, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  long length = syscall(SYS_read, fd, text, sizeof text - 1);
  syscall(SYS_close, fd);
  text[length < 0 ? 0 : length] = '\0';
  char *rest = text;
  for (char *line = strtok_r(rest, "\n", &rest); line != NULL; line = strtok_r(rest, "\n", &rest)) read_rule(line);
}

static void note(const struct rule *rule, enum operation operation, const char *path) {
  char file[MAX_TEXT];
  char line[2 * MAX_TEXT];
  snprintf(file, sizeof file, "%s.log", getenv("FAULTY_DISK_RULES"));
  int length = snprintf(line, sizeof line, "%s %s %s\n", rule->name, name_of(operation), path);
  int fd = (int)syscall(SYS_openat, AT_FDCWD, file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0) return;
  syscall(SYS_write, fd, line, length < (int)sizeof line ? length : (int)sizeof line - 1);
  syscall(SYS_close, fd);
}

static bool matches(const struct rule *rule, enum operation operation, const char *path, const char *other) {
  if ((rule->operations & operation) == 0) return false;
  if (rule->action == FREE && operation != STATFS) return false;
  if ((rule->action == SHORT && !(operation & (READ | WRITE))) || (rule->action == ROOM && operation != WRITE)) return false;
  if (strcmp(rule->path, "*") == 0) return true;
  return strstr(path, rule->path) != NULL || (other != NULL && strstr(other, rule->path) != NULL);
}

/* True when it is the rule's turn. */
static bool is_due(struct rule *rule) {
  if (rule->times == 0) return false;
  if (rule->skip > 0) {
    rule->skip--;
    return false;
  }
  if (rule->chance < 1 && chance() >= rule->chance) return false;
  if (rule->times > 0) rule->times--;
  return true;
}

/* What the rule says; true when no other is to be asked. */
static bool apply(struct rule *rule, size_t length, struct verdict *verdict, long long *slow) {
  switch (rule->action) {
    case FAIL:
      verdict->error = rule->error;
      return true;
    case SHORT:
      verdict->length = length < 2 ? length : length / 2;
      return true;
    case ROOM:
      if (rule->amount <= 0 && length > 0) verdict->error = ENOSPC;
      else if ((long long)length > rule->amount) verdict->length = (size_t)rule->amount;
      rule->amount -= (long long)verdict->length;
      return true;
    case FREE:
      verdict->free_bytes = rule->amount;
      return true;
    case SLOW:
      *slow += rule->amount;
      return false;
    case LOG:
      return false;
    case KILL:
      finish((struct verdict){.ending = KILLED});
      return true;
    case CUT_NOW:
      finish((struct verdict){.ending = CUT});
      return true;
    case TORN_NOW:
      finish((struct verdict){.ending = TORN});
      return true;
    case KILL_AFTER:
      verdict->ending = KILLED;
      return true;
    case CUT_AFTER:
      verdict->ending = CUT;
      return true;
    case TORN_AFTER:
      verdict->ending = TORN;
      return true;
  }
  return true;
}

struct verdict judge(enum operation operation, const char *path, const char *other_path, size_t length) {
  struct verdict verdict = {.error = 0, .length = length, .free_bytes = -1, .ending = 0};
  long long slow = 0;
  pthread_mutex_lock(&mutex);
  refresh();
  for (int i = 0; i < rule_count; i++) {
    struct rule *rule = &rules[i];
    if (!matches(rule, operation, path, other_path) || !is_due(rule)) continue;
    if (rule->action != ROOM || rule->amount < (long long)length) note(rule, operation, path);
    if (apply(rule, length, &verdict, &slow)) break;
  }
  pthread_mutex_unlock(&mutex);
  if (slow > 0) {
    struct timespec pause = {.tv_sec = slow / 1000, .tv_nsec = slow % 1000 * 1000000};
    nanosleep(&pause, NULL);
  }
  return verdict;
}

void finish(struct verdict verdict) {
  if (verdict.ending == 0) return;
  if (verdict.ending != KILLED) {
    undo_lock();
    undo_all(verdict.ending == TORN);
  }
  kill(getpid(), SIGKILL);
  for (;;) pause();
}
