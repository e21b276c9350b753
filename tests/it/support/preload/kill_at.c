/* Ends the process with SIGKILL at one of the calls that change a database or a journal, or that lock them.
 *
 *   KILL_IN    the folder of the files that count; a socket counts wherever it leads
 *   KILL_AT    before which of those calls, counted over all threads from 1; 0: none
 *   KILL_TOLD  the file that is told which call it was, or how many there were in all
 *
 * Calls that only read change nothing: dying at one of them is dying after the call before. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_long calls;
static atomic_flag told = ATOMIC_FLAG_INIT;

/* Told once: a thread that reaches the call while the program ends would leave half of a file. */
static int tell(long number, const char *name) {
    if (atomic_flag_test_and_set(&told)) return 0;
    const char *file = getenv("KILL_TOLD");
    char text[64];
    int length = snprintf(text, sizeof text, "%ld %s", number, name);
    int fd = file ? (int)syscall(SYS_openat, AT_FDCWD, file, O_CREAT | O_WRONLY | O_TRUNC, 0600) : -1;
    if (fd >= 0) {
        syscall(SYS_write, fd, text, length);
        syscall(SYS_close, fd);
    }
    return 1;
}

static void step(const char *name) {
    const char *at = getenv("KILL_AT");
    long number = atomic_fetch_add(&calls, 1) + 1;
    if (at && atol(at) == number && tell(number, name)) syscall(SYS_kill, getpid(), SIGKILL);
}

static void path_step(const char *path, const char *name) {
    const char *folder = getenv("KILL_IN");
    if (folder && path && strncmp(path, folder, strlen(folder)) == 0) step(name);
}

static void fd_step(int fd, const char *name) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length <= 0) return;
    path[length] = 0;
    if (strncmp(path, "socket:", 7) == 0) step(name);
    else path_step(path, name);
}

__attribute__((destructor)) static void total(void) { tell(atomic_load(&calls), "in all"); }

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t write(int fd, const void *data, size_t size) {
    fd_step(fd, "write");
    return REAL(write)(fd, data, size);
}
ssize_t pwrite(int fd, const void *data, size_t size, off_t at) {
    fd_step(fd, "pwrite");
    return REAL(pwrite)(fd, data, size, at);
}
ssize_t pwrite64(int fd, const void *data, size_t size, off64_t at) {
    fd_step(fd, "pwrite");
    return REAL(pwrite64)(fd, data, size, at);
}
int fsync(int fd) {
    fd_step(fd, "fsync");
    return REAL(fsync)(fd);
}
int fdatasync(int fd) {
    fd_step(fd, "fdatasync");
    return REAL(fdatasync)(fd);
}
int ftruncate(int fd, off_t size) {
    fd_step(fd, "ftruncate");
    return REAL(ftruncate)(fd, size);
}
int ftruncate64(int fd, off64_t size) {
    fd_step(fd, "ftruncate");
    return REAL(ftruncate64)(fd, size);
}
int unlink(const char *path) {
    path_step(path, "unlink");
    return REAL(unlink)(path);
}
int rename(const char *from, const char *to) {
    path_step(from, "rename");
    return REAL(rename)(from, to);
}
ssize_t send(int fd, const void *data, size_t size, int flags) {
    fd_step(fd, "send");
    return REAL(send)(fd, data, size, flags);
}
ssize_t recv(int fd, void *data, size_t size, int flags) {
    fd_step(fd, "recv");
    return REAL(recv)(fd, data, size, flags);
}
/* The index of a log is changed in memory, between two locks. */
static void lock_step(int fd, int command) {
    if (command == F_SETLK || command == F_SETLKW) fd_step(fd, "lock");
}
int fcntl(int fd, int command, ...) {
    va_list rest;
    va_start(rest, command);
    void *argument = va_arg(rest, void *);
    va_end(rest);
    lock_step(fd, command);
    return REAL(fcntl)(fd, command, argument);
}
int fcntl64(int fd, int command, ...) {
    va_list rest;
    va_start(rest, command);
    void *argument = va_arg(rest, void *);
    va_end(rest);
    lock_step(fd, command);
    return ((int (*)(int, int, ...))dlsym(RTLD_NEXT, "fcntl64"))(fd, command, argument);
}
