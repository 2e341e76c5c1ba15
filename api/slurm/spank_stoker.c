/* SPDX-License-Identifier: BSD-3-Clause */
/* SPANK plugin of Slurm: `srun --stoker[=OPTION,...] PROGRAM` runs PROGRAM as `stoker run --OPTION ... -- PROGRAM` would.
 * Each task asks that command what to set (`--exports`), so that options, refusals and exit codes are the same.
 *
 * plugstack.conf: optional PREFIX/lib/stoker/spank_stoker.so [stoker=FILE]      FILE: the program to ask */
#include <slurm/slurm.h>
#include <slurm/spank.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

SPANK_PLUGIN(stoker, 1)

enum { cannot_run = 125 }; /* as `stoker run` says it */

static struct spank_option option = {
    .name = "stoker",
    .arginfo = "OPTION,...",
    .usage = "run the program with stoker; options as those of `stoker run`: --stoker=blocking,summary=FILE",
    .has_arg = 2, /* or none */
};

static char* after(const char* prefix, char* text) {
  const size_t length = strlen(prefix);
  return strncmp(text, prefix, length) == 0 ? text + length : NULL;
}

/* The program to ask. NULL: plugstack.conf has other arguments. */
static char* program(int count, char* arguments[]) {
  static char installed[] = STOKER_PROGRAM;
  char* file = installed;
  for (int i = 0; i < count && file != NULL; ++i) {
    file = after("stoker=", arguments[i]);
  }
  return file;
}

/* FILE run --exports --OPTION ... -- COMMAND. No word is given back: the process becomes the task. NULL: no memory. */
static char** question(char* file, char* options, int count, char* command[]) {
  size_t most = (size_t)count + 6;
  for (const char* c = options; *c != '\0'; ++c) {
    most += *c == ',';
  }
  char** const words = calloc(most, sizeof *words);
  if (words == NULL) {
    return NULL;
  }
  char** end = words;
  *end++ = file;
  *end++ = "run";
  *end++ = "--exports";
  char* rest = NULL;
  for (char* one = strtok_r(options, ",", &rest); one != NULL; one = strtok_r(NULL, ",", &rest)) {
    if (asprintf(end++, "--%s", one) < 0) {
      return NULL;
    }
  }
  *end++ = "--";
  memcpy(end, command, (size_t)count * sizeof *command);
  return words;
}

/* Sets what the lines `export NAME=VALUE` say. Others are for the user. */
static int take(spank_t spank, FILE* answer) {
  int result = 0;
  char* line = NULL;
  size_t capacity = 0;
  for (ssize_t length = getline(&line, &capacity, answer); length > 0; length = getline(&line, &capacity, answer)) {
    line[strcspn(line, "\n")] = '\0';
    char* const name = after("export ", line);
    char* const equals = name == NULL ? NULL : strchr(name, '=');
    if (equals == NULL) {
      fprintf(stderr, "%s\n", line);
      result = cannot_run;
    } else {
      *equals = '\0';
      if (spank_setenv(spank, name, equals + 1, 1) != ESPANK_SUCCESS) {
        result = cannot_run;
      }
    }
  }
  free(line);
  return result;
}

/* Asks in the task's environment, and waits for the answer. The exit code that the task then has; 0: it can start. */
static int ask(spank_t spank, char* words[], char* environment[]) {
  int ends[2];
  if (pipe(ends) != 0) {
    return cannot_run;
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  posix_spawn_file_actions_addclose(&actions, ends[1]);
  pid_t child = 0;
  const int error = posix_spawn(&child, words[0], &actions, NULL, words, environment);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (error != 0) {
    close(ends[0]);
    fprintf(stderr, "srun --stoker: %s: %s\n", words[0], strerror(error));
    return cannot_run;
  }
  FILE* const answer = fdopen(ends[0], "r");
  const int taken = answer == NULL ? cannot_run : take(spank, answer);
  if (answer != NULL) {
    fclose(answer);
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child || !WIFEXITED(status)) {
    return cannot_run;
  }
  return WEXITSTATUS(status) != 0 ? WEXITSTATUS(status) : taken;
}

int slurm_spank_init(spank_t spank, int count, char* arguments[]) {
  if (program(count, arguments) == NULL) {
    slurm_error("spank_stoker.so: plugstack.conf gives it an argument other than stoker=FILE");
    return ESPANK_BAD_ARG;
  }
  return (int)spank_option_register(spank, &option);
}

/* mpiexec starts these by srun, which hands the option on. They start the program: `mpiexec stoker run`. */
static int is_launchers(const char* path) {
  static const char* const agents[] = {"hydra_pmi_proxy", "hydra_bstrap_proxy", "orted", "prted"};
  const char* const slash = strrchr(path, '/');
  const char* const name = slash == NULL ? path : slash + 1;
  for (size_t i = 0; i < sizeof agents / sizeof *agents; ++i) {
    if (strcmp(name, agents[i]) == 0) {
      return 1;
    }
  }
  return 0;
}

/* In the task's process, with the user's rights. */
int slurm_spank_task_init(spank_t spank, int count, char* arguments[]) {
  char* options = NULL;
  uint32_t step = 0;
  if (spank_option_getopt(spank, &option, &options) != ESPANK_SUCCESS ||
      spank_get_item(spank, S_JOB_STEPID, &step) != ESPANK_SUCCESS || step >= SLURM_MAX_NORMAL_STEP_ID) {
    return 0; /* not asked for, or not a step: the batch script */
  }
  int words = 0;
  char** command = NULL;
  char** environment = NULL;
  /* Steps of a job that has the option without a list are given this one. */
  const int none = options == NULL || strcmp(options, "(null)") == 0;
  char* const copy = strdup(none ? "" : options);
  char** asked = NULL;
  if (copy != NULL && spank_get_item(spank, S_JOB_ARGV, &words, &command) == ESPANK_SUCCESS &&
      spank_get_item(spank, S_JOB_ENV, &environment) == ESPANK_SUCCESS) {
    if (words > 0 && is_launchers(command[0])) {
      free(copy);
      return 0;
    }
    asked = question(program(count, arguments), copy, words, command);
  }
  const int code = asked == NULL ? cannot_run : ask(spank, asked, environment);
  if (code != 0) {
    _exit(code); /* an error that is returned is overlooked, if plugstack.conf calls the plugin optional */
  }
  return 0;
}
