// Writes the most memory that the process has had, in KiB, into the file PEAK_FILE when the process ends.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((destructor)) static void tell_peak(void) {
  const char *path = getenv("PEAK_FILE");
  FILE *status = fopen("/proc/self/status", "r");
  if (!path || !status) return;
  char line[256];
  while (fgets(line, sizeof line, status)) {
    long peak;
    if (sscanf(line, "VmHWM: %ld", &peak) != 1) continue;
    FILE *file = fopen(path, "w");
    if (!file) return;
    fprintf(file, "%ld\n", peak);
    fclose(file);
    return;
  }
}
