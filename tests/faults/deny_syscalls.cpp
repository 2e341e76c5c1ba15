// SPDX-License-Identifier: BSD-3-Clause
// Runs a command under a seccomp filter that refuses system calls with EPERM, as containers and hardened sites do:
//
//   deny_syscalls NAME[,NAME...] COMMAND [ARGUMENT...]
#include <seccomp.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <sstream>
#include <string>
#include <unistd.h>

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: deny_syscalls NAME[,NAME...] COMMAND [ARGUMENT...]\n");
    return 64;
  }
  scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
  std::istringstream names(argv[1]);
  for (std::string name; std::getline(names, name, ',');) {
    const int number = seccomp_syscall_resolve_name(name.c_str());
    if (number == __NR_SCMP_ERROR || seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), number, 0) != 0) {
      std::fprintf(stderr, "deny_syscalls: no system call named %s here\n", name.c_str());
      return 64;
    }
  }
  if (const int error = seccomp_load(filter); error != 0) {
    std::fprintf(stderr, "skipped: no seccomp filter can be installed here: %s\n", std::strerror(-error));
    return 77;
  }
  seccomp_release(filter);
  execvp(argv[2], argv + 2);
  std::fprintf(stderr, "deny_syscalls: %s: %s\n", argv[2], std::strerror(errno));
  return 127;
}
