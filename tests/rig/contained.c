// SPDX-License-Identifier: BSD-3-Clause
// Runs a command and leaves nothing behind: its processes end with it, whichever sessions they are in, and so does
// a folder.
//
//   contained SECONDS FOLDER COMMAND [ARGUMENT...]
//       SECONDS   as long as it may take; then it is asked to end, and killed 5 s later
//       FOLDER    is made, and removed at the end
//
// SIGINT, SIGTERM and SIGHUP end it at once. The exit status is the command's; 124 if it took too long; 128 plus the
// signal that ended it; 125 if this program failed.
#define _GNU_SOURCE
#include <errno.h>
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

enum { grace_seconds = 5 };

static _Noreturn void die(const char* what) {
  fprintf(stderr, "contained: %s: %s\n", what, strerror(errno));
  exit(125);
}

static long now_ms(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

// Waits for a signal until then. 0: there was none.
static int caught_until(long end_ms, const sigset_t* signals) {
  const long rest_ms = end_ms - now_ms();
  if (rest_ms <= 0) {
    return 0;
  }
  const struct timespec rest = {.tv_sec = rest_ms / 1000, .tv_nsec = rest_ms % 1000 * 1000000};
  const int caught = sigtimedwait(signals, NULL, &rest);
  return caught > 0 ? caught : 0;
}

// Waits for the command, and meanwhile for what else ends. False: it takes too long, or a signal asks for an end, which
// is stored.
static bool await(pid_t command, int* status, long seconds, const sigset_t* signals, int* asked) {
  const long end_ms = now_ms() + seconds * 1000;
  for (;;) {
    int ended_status = 0;
    pid_t ended = 0;
    while ((ended = waitpid(-1, &ended_status, WNOHANG)) > 0) {
      if (ended == command) {
        *status = ended_status;
        return true;
      }
    }
    if (now_ms() >= end_ms) {
      return false;
    }
    const int caught = caught_until(end_ms, signals);
    if (caught > 0 && caught != SIGCHLD) {
      *asked = caught;
      return false;
    }
  }
}

// Orphans among its descendants become children of this process, so in the end all are its children. Those that the
// kernel does not let end are left.
static void kill_all(const sigset_t* signals) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
  const long end_ms = now_ms() + grace_seconds * 1000L;
  pid_t ended = 0;
  while ((ended = waitpid(-1, NULL, WNOHANG)) >= 0) {
    if (ended > 0) {
      continue;
    }
    FILE* const children = now_ms() < end_ms ? fopen(path, "re") : NULL;
    if (children == NULL) {
      fputs("contained: processes are left behind\n", stderr);
      return;
    }
    int pid = 0;
    while (fscanf(children, "%d", &pid) == 1) {
      kill(pid, SIGKILL);
    }
    fclose(children);
    (void)caught_until(end_ms, signals); // SIGCHLD
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
  const long seconds = strtol(argv[1], NULL, 10);
  const char* const folder = argv[2];
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  signal(SIGCHLD, SIG_DFL); // who started this may ignore it
  sigset_t signals;
  sigset_t before;
  sigemptyset(&signals);
  const int ends[] = {SIGCHLD, SIGINT, SIGTERM, SIGHUP};
  for (size_t i = 0; i < sizeof ends / sizeof *ends; ++i) {
    sigaddset(&signals, ends[i]);
  }
  sigprocmask(SIG_BLOCK, &signals, &before);
  if (mkdir(folder, 0700) != 0) {
    die(folder);
  }
  const pid_t command = fork();
  if (command < 0) {
    const int reason = errno;
    rmdir(folder);
    errno = reason;
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
  if (!in_time && asked == 0) {
    fprintf(stderr, "contained: stopped after %ld s:", seconds);
    for (char** word = argv + 3; *word != NULL; ++word) {
      fprintf(stderr, " %s", *word);
    }
    fputc('\n', stderr);
    kill(command, SIGTERM);
    (void)await(command, &status, grace_seconds, &signals, &asked);
  }
  kill_all(&signals);
  nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
  if (asked != 0) {
    return 128 + asked;
  }
  if (!in_time) {
    return 124;
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
