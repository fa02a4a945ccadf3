/* Preloaded into a process: makes calls on paths below FAULT_BELOW fail or hang, and counts what would change files.
 *
 * FAULT=lock_enosys      flock fails with ENOSYS
 *       lock_blocks      flock never returns
 *       estale, ebusy    every 2nd rename and open of a folder fails so
 *       hidden           for 2 s after a rename its target cannot be opened: ENOENT
 *       enospc           write fails
 *       slow_rename      rename takes 0.3 s
 *       count            nothing fails
 * With FAULT_LOG, one line a call that makes, changes, moves or removes something below the folder is appended there.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static char hidden[PATH_MAX];
static struct timespec hidden_at;
static int attempts;

static int is_fault(const char* name) {
  const char* fault = getenv("FAULT");
  return fault && strcmp(fault, name) == 0;
}

static int below(const char* path) {
  const char* folder = getenv("FAULT_BELOW");
  return folder && path && strncmp(path, folder, strlen(folder)) == 0;
}

static int fd_below(int fd) {
  char link[64], path[PATH_MAX];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t size = readlink(link, path, sizeof path - 1);
  if (size < 0) return 0;
  path[size] = 0;
  return below(path);
}

static int at_below(int folder, const char* path) { return path[0] == '/' ? below(path) : fd_below(folder); }

static void note(const char* what, const char* path) {
  const char* log = getenv("FAULT_LOG");
  if (!log) return;
  char line[PATH_MAX + 32];
  int size = snprintf(line, sizeof line, "%s %s\n", what, path);
  int fd = REAL(open)(log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return;
  if (REAL(write)(fd, line, (size_t)size) < 0) abort();
  close(fd);
}

static int passing(void) {
  int error = is_fault("estale") ? ESTALE : is_fault("ebusy") ? EBUSY : 0;
  if (!error || __sync_fetch_and_add(&attempts, 1) % 2) return 0;
  errno = error;
  return 1;
}

static int is_hidden(const char* path) {
  struct timespec now;
  if (!hidden[0] || strncmp(path, hidden, strlen(hidden)) != 0) return 0;
  clock_gettime(CLOCK_MONOTONIC, &now);
  if (now.tv_sec - hidden_at.tv_sec > 2) return 0;
  errno = ENOENT;
  return 1;
}

static int refuses_open(const char* path, int flags) {
  if (flags & (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC)) note("open", path);
  return is_hidden(path) || ((flags & O_DIRECTORY) && passing());
}

int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  if (below(path) && refuses_open(path, flags)) return -1;
  return REAL(open)(path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return open(path, flags, mode);
}

int openat(int folder, const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  if (at_below(folder, path) && refuses_open(path, flags)) return -1;
  return REAL(openat)(folder, path, flags, mode);
}

int openat64(int folder, const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return openat(folder, path, flags, mode);
}

ssize_t write(int fd, const void* data, size_t size) {
  if (is_fault("enospc") && fd_below(fd)) {
    errno = ENOSPC;
    return -1;
  }
  return REAL(write)(fd, data, size);
}

int rename(const char* from, const char* to) {
  if (!below(to) && !below(from)) return REAL(rename)(from, to);
  note("rename", to);
  if (passing()) return -1;
  if (is_fault("slow_rename")) nanosleep(&(struct timespec){0, 300000000}, 0);
  int code = REAL(rename)(from, to);
  if (code == 0 && is_fault("hidden")) {
    clock_gettime(CLOCK_MONOTONIC, &hidden_at);
    snprintf(hidden, sizeof hidden, "%s", to);
  }
  return code;
}

int mkdir(const char* path, mode_t mode) {
  if (below(path)) note("mkdir", path);
  return REAL(mkdir)(path, mode);
}

int unlink(const char* path) {
  if (below(path)) note("unlink", path);
  return REAL(unlink)(path);
}

int unlinkat(int folder, const char* path, int flags) {
  if (at_below(folder, path)) note("unlinkat", path);
  return REAL(unlinkat)(folder, path, flags);
}

int utimensat(int folder, const char* path, const struct timespec times[2], int flags) {
  if (path && at_below(folder, path)) note("utimensat", path);
  return REAL(utimensat)(folder, path, times, flags);
}

int flock(int fd, int operation) {
  if (fd_below(fd)) {
    note("flock", "");
    if (is_fault("lock_enosys")) {
      errno = ENOSYS;
      return -1;
    }
    if (is_fault("lock_blocks") && !(operation & LOCK_UN))
      for (;;) pause();
  }
  return REAL(flock)(fd, operation);
}
