/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs a command in which cross-memory attach is refused, as in a container with a strict seccomp profile. */
#include <errno.h>
#include <seccomp.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char** argv) {
  if (argc < 2) {
    fprintf(stderr, "usage: %s COMMAND [ARGUMENT...]\n", argv[0]);
    return 2;
  }
  scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
  if (filter == NULL || seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(process_vm_readv), 0) != 0 ||
      seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(process_vm_writev), 0) != 0 ||
      seccomp_load(filter) != 0) {
    fprintf(stderr, "%s: seccomp is not available\n", argv[0]);
    return 77;
  }
  seccomp_release(filter);
  execvp(argv[1], argv + 1);
  perror(argv[1]);
  return 127;
}
