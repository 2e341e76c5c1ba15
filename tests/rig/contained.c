// SPDX-License-Identifier: BSD-3-Clause
// Runs a command and leaves nothing behind: its processes end with it, whichever sessions they are in, and so does a folder.
//
//   contained SECONDS FOLDER COMMAND [ARGUMENT...]
//       SECONDS   as long as it may take; then it is terminated, and killed 5 s later
//       FOLDER    is made, and removed at the end
//
// The exit status is the command's, 124 if it took too long, and 128 plus the signal that ended it.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const time_t grace_seconds = 5;

static _Noreturn void die(const char* what) {
  fprintf(stderr, "contained: %s: %s\n", what, strerror(errno));
  exit(125);
}

static struct timespec now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time;
}

// Waits for the command, and meanwhile for what else ends. False: it takes too long, or a signal asks for an end, which is
// stored.
static bool await(pid_t command, int* status, time_t seconds, const sigset_t* signals, int* asked) {
  const struct timespec begin = now();
  for (;;) {
    int ended_status = 0;
    pid_t ended = 0;
    while ((ended = waitpid(-1, &ended_status, WNOHANG)) > 0) {
      if (ended == command) {
        *status = ended_status;
        return true;
      }
    }
    const time_t passed = now().tv_sec - begin.tv_sec;
    if (passed >= seconds) {
      return false;
    }
    const struct timespec rest = {.tv_sec = seconds - passed};
    const int caught = sigtimedwait(signals, NULL, &rest);
    if (caught > 0 && caught != SIGCHLD) {
      *asked = caught;
      return false;
    }
  }
}

// Orphans among its descendants become children of this process, so in the end all are its children.
static void kill_all(void) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
  while (waitpid(-1, NULL, WNOHANG) >= 0) {
    FILE* const children = fopen(path, "re");
    if (children == NULL) {
      die(path);
    }
    int pid = 0;
    while (fscanf(children, "%d", &pid) == 1) {
      kill(pid, SIGKILL);
    }
    fclose(children);
    waitpid(-1, NULL, 0);
  }
}

static int remove_one(const char* path, const struct stat* about, int kind, struct FTW* place) {
  (void)about;
  (void)kind;
  (void)place;
  remove(path);
  return 0;
}

int main(int argc, char** argv) {
  if (argc < 4) {
    fputs("usage: contained SECONDS FOLDER COMMAND [ARGUMENT...]\n", stderr);
    return 125;
  }
  const time_t seconds = strtol(argv[1], NULL, 10);
  const char* const folder = argv[2];
  if (mkdir(folder, 0700) != 0) {
    die(folder);
  }
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  sigset_t signals;
  sigset_t before;
  sigemptyset(&signals);
  const int ends[] = {SIGCHLD, SIGINT, SIGTERM, SIGHUP};
  for (size_t i = 0; i < sizeof ends / sizeof *ends; ++i) {
    sigaddset(&signals, ends[i]);
  }
  sigprocmask(SIG_BLOCK, &signals, &before);
  const pid_t command = fork();
  if (command < 0) {
    die("fork");
  }
  if (command == 0) {
    sigprocmask(SIG_SETMASK, &before, NULL);
    execvp(argv[3], argv + 3);
    fprintf(stderr, "contained: %s: %s\n", argv[3], strerror(errno));
    _exit(127);
  }
  int status = 0;
  int asked = 0;
  const bool in_time = await(command, &status, seconds, &signals, &asked);
  if (!in_time) {
    if (asked == 0) {
      fprintf(stderr, "contained: stopped after %ld s: %s\n", (long)seconds, argv[3]);
    }
    kill(command, SIGTERM);
    int again = 0;
    (void)await(command, &status, grace_seconds, &signals, &again);
  }
  kill_all();
  nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
  if (asked != 0) {
    return 128 + asked;
  }
  if (!in_time) {
    return 124;
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
