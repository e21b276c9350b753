/* A disk that becomes full: after FULL_AFTER bytes, writes to the files of a recording fail with ENOSPC. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static long room = -1;

static int is_recording(int file) {
  char link[40], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = 0;
  return strstr(path, ".rec") != NULL;
}

static int is_full(int file, size_t size) {
  if (!is_recording(file)) return 0;
  if (room < 0) room = atol(getenv("FULL_AFTER"));
  if ((long)size <= room) {
    room -= (long)size;
    return 0;
  }
  room = 0;
  errno = ENOSPC;
  return 1;
}

ssize_t write(int file, const void *bytes, size_t size) {
  ssize_t (*next)(int, const void *, size_t) = dlsym(RTLD_NEXT, "write");
  return is_full(file, size) ? -1 : next(file, bytes, size);
}

ssize_t pwrite(int file, const void *bytes, size_t size, off_t at) {
  ssize_t (*next)(int, const void *, size_t, off_t) = dlsym(RTLD_NEXT, "pwrite");
  return is_full(file, size) ? -1 : next(file, bytes, size, at);
}

ssize_t pwrite64(int file, const void *bytes, size_t size, off64_t at) {
  ssize_t (*next)(int, const void *, size_t, off64_t) = dlsym(RTLD_NEXT, "pwrite64");
  return is_full(file, size) ? -1 : next(file, bytes, size, at);
}
