// SPDX-License-Identifier: BSD-3-Clause
// Calls that the standard does not promise, and all that it does, made twice: on a communicator whose calls the drop-in
// library may take, and on one whose info leaves them to the MPI library (stoker_off). Both must agree in result or in
// error class. Without the drop-in library both are the MPI library's: a test of the test.
//
//   same_as_mpi [--strict] SECTION...       exits 0; 1 after lines with rank and case
//
// --strict: also what an MPI library alone fails in.
#include "tests/pmpi/same_as_mpi.h"

#include <string.h>

bool strict = false;
int rank = 0, ranks = 0, failures = 0;
char context[256] = "";

Pair pair_of(MPI_Comm comm) {
  Pair pair;
  MPI_Comm_dup(comm, &pair.taken);
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "stoker_off", "1");
  MPI_Comm_dup_with_info(comm, info, &pair.left);
  MPI_Info_free(&info);
  MPI_Comm_set_errhandler(pair.taken, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(pair.left, MPI_ERRORS_RETURN);
  return pair;
}

void free_pair(Pair* pair) {
  MPI_Comm_free(&pair->taken);
  MPI_Comm_free(&pair->left);
}

int class_of(int code) {
  int its_class = MPI_SUCCESS;
  MPI_Error_class(code, &its_class);
  return its_class;
}

Form reference_form(Form form) { return is_blocking(form) ? form_blocking : form_nonblocking; }

int complete(Form form, int code, MPI_Request* request) {
  if (code != MPI_SUCCESS || is_blocking(form)) {
    return code;
  }
  if (is_persistent(form)) {
    code = MPI_Start(request);
  }
  if (code == MPI_SUCCESS) {
    code = MPI_Wait(request, MPI_STATUS_IGNORE);
  }
  if (is_persistent(form)) {
    MPI_Request_free(request);
  }
  return code;
}

int carry_out(Family family, Form form, const Arguments* arguments) {
  MPI_Request request = MPI_REQUEST_NULL;
  return complete(form, call_collective(family, form, arguments, &request), &request);
}

void compare_calls(Family family, Form form, Arguments arguments, Pair comms, int* results[2], size_t ints) {
  (void)snprintf(context, sizeof context, "%s, %s", family_name(family), form_name(form));
  int codes[2];
  for (int k = 0; k < 2; ++k) {
    if (results[k] != NULL) {
      memset(results[k], 0x5a, ints * sizeof(int));
    }
    arguments.recvbuf = results[k];
    arguments.comm = k == 0 ? comms.left : comms.taken;
    codes[k] = carry_out(family, k == 0 ? reference_form(form) : form, &arguments);
  }
  if (class_of(codes[0]) != class_of(codes[1])) {
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    MPI_Error_string(codes[1], text, &length);
    FAIL("error class %d (%s), the library's %d", class_of(codes[1]), text, class_of(codes[0]));
  }
  if (results[0] != NULL && memcmp(results[0], results[1], ints * sizeof(int)) != 0) {
    FAIL("the result is another one than the library's");
  }
}

void place(Places* places, int block, int count, int displ) {
  places->counts[block] = count;
  places->wide_counts[block] = count;
  places->displs[block] = displ;
  places->wide_displs[block] = displ;
  places->bytes[block] = displ * (int)sizeof(int);
  places->wide_bytes[block] = displ * (MPI_Aint)sizeof(int);
  places->types[block] = MPI_INT;
}

Arguments arguments_of(Family family, const int* in, const Places* send, int* out, const Places* recv, MPI_Comm comm) {
  const bool in_bytes = family == alltoallw || family == neighbor_alltoallw;
  return (Arguments){.sendbuf = in,
                     .sendcount = send->counts[0],
                     .sendcounts = send->counts,
                     .sdispls = in_bytes ? send->bytes : send->displs,
                     .wide_sendcounts = send->wide_counts,
                     .wide_sdispls = in_bytes ? send->wide_bytes : send->wide_displs,
                     .sendtype = MPI_INT,
                     .sendtypes = send->types,
                     .recvbuf = out,
                     .recvcount = recv->counts[0],
                     .recvcounts = recv->counts,
                     .rdispls = in_bytes ? recv->bytes : recv->displs,
                     .wide_recvcounts = recv->wide_counts,
                     .wide_rdispls = in_bytes ? recv->wide_bytes : recv->wide_displs,
                     .recvtype = MPI_INT,
                     .recvtypes = recv->types,
                     .op = MPI_SUM,
                     .root = 0,
                     .comm = comm};
}

MPI_Comm with_neighbors(void) {
  int all[most_ranks];
  for (int r = 0; r < ranks; ++r) {
    all[r] = r;
  }
  MPI_Comm graph;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, ranks, all, MPI_UNWEIGHTED, ranks, all, MPI_UNWEIGHTED, MPI_INFO_NULL,
                                 0, &graph);
  return graph;
}

// ---- errors of the drop-in library's own

static void run_error_texts(void) {
  int in = 1;
  int out = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  Pair comms = pair_of(MPI_COMM_WORLD);
  const Arguments arguments = {
      .sendbuf = &in, .recvbuf = &out, .recvcount = 1, .recvtype = MPI_INT, .op = MPI_SUM, .comm = comms.taken};
  call_collective(allreduce, some_persistent_form(), &arguments, &request);
  MPI_Start(&request);
  const int code = MPI_Start(&request);
  char text[MPI_MAX_ERROR_STRING] = "";
  char class_text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  MPI_Error_string(class_of(code), class_text, &length);
  (void)snprintf(context, sizeof context, "MPI_Start of an active request");
  if (code == MPI_SUCCESS || strncmp(text, "stoker: ", 8) != 0 || strstr(text, "active") == NULL) {
    FAIL("the text is: %s", text);
  }
  if (class_of(code) != MPI_ERR_REQUEST && strcmp(class_text, "stoker: an error of the engine") != 0) {
    FAIL("class %d with the text: %s", class_of(code), class_text);
  }
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Request_free(&request);
  free_pair(&comms);
}

// ---- main

typedef struct Section {
  const char* name;
  void (*run)(void);
} Section;

int main(int argc, char** argv) {
  const Section sections[] = {{"reductions", run_reductions},
                              {"displacements", run_displacements},
                              {"arrays", run_arrays},
                              {"less-than-expected", run_less_than_expected},
                              {"arguments", run_arguments},
                              {"insignificant", run_insignificant},
                              {"repeated-neighbors", run_repeated_neighbors},
                              {"error-texts", run_error_texts}};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int run = 0;
  for (int i = 1; i < argc; ++i) {
    if (strcmp(argv[i], "--strict") == 0) {
      strict = true;
      ++run;
    }
    for (size_t s = 0; s < sizeof sections / sizeof sections[0]; ++s) {
      if (strcmp(argv[i], sections[s].name) == 0) {
        sections[s].run();
        ++run;
      }
    }
  }
  MPI_Finalize();
  return failures > 0 || run != argc - 1 || run == 0;
}
