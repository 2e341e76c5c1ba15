! SPDX-License-Identifier: BSD-3-Clause
! Errors that Fortran programs see: codes by ierror, messages that name the argument; the end of the program without ierror.
! usage: errors [end]
program errors
  use, intrinsic :: iso_c_binding
  use mpi_f08
  use stoker
  implicit none
  type(stoker_engine) :: engine, dead
  type(stoker_request) :: request
  type(c_ptr) :: memory
  integer, asynchronous :: grid(8, 8), block(8)
  integer, pointer :: shared(:)
  integer :: level, ranks, ierror, code, wrong = 0

  call MPI_Init_thread(MPI_THREAD_MULTIPLE, level)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  grid = 0
  block = 0
  call stoker_engine_create(MPI_COMM_WORLD, engine, ierror)
  call expect("a good call", STOKER_SUCCESS, "")
  if (command_argument_count() > 0) then
    call stoker_start(request) ! does not return
    stop
  end if

  call stoker_engine_create(MPI_COMM_WORLD, ["executor=carrier-pigeon"], dead, ierror)
  call expect("a bad value", STOKER_ERR_SETTING, "carrier-pigeon")
  call expect_null("engine", dead%handle)
  call stoker_engine_create(MPI_COMM_WORLD, ["executor"], dead, ierror)
  call expect("no value", STOKER_ERR_SETTING, "executor")
  call stoker_engine_create(MPI_COMM_NULL, dead, ierror)
  call expect("a null communicator", STOKER_ERR_ARGUMENT, "MPI_COMM_NULL")

  request%handle = 1 ! of an earlier request
  call stoker_allreduce_init(block, grid, -1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, engine, request, ierror)
  call expect("a negative count", STOKER_ERR_ARGUMENT, "count")
  call expect_null("request", request%handle)
  call stoker_allreduce_init(grid(1, :), block, 8, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, engine, request, ierror)
  call expect("a row of a grid", STOKER_ERR_ARGUMENT, "sendbuf is not contiguous; expected a contiguous array")
  call stoker_allreduce_init(grid(:, 1), grid(2:3, :), 8, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, engine, request, &
    ierror)
  call expect("rows of a grid", STOKER_ERR_ARGUMENT, "recvbuf is not contiguous")
  call stoker_bcast_init(block, 8, MPI_INTEGER, ranks, MPI_COMM_WORLD, MPI_INFO_NULL, engine, request, ierror)
  call expect("no such root", STOKER_ERR_ARGUMENT, "root")
  call stoker_bcast_init(MPI_BOTTOM, 8, MPI_INTEGER, 0, MPI_COMM_WORLD, MPI_INFO_NULL, engine, request, ierror)
  call expect("MPI_BOTTOM", STOKER_ERR_ARGUMENT, "null")
  call stoker_start(request, ierror)
  call expect("start of a null request", STOKER_ERR_REQUEST, "request")
  call stoker_allreduce_init(grid(:, 1), grid(:, 2), 8, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, engine, request, &
    ierror)
  call expect("columns of a grid", STOKER_SUCCESS, "")
  call stoker_start_on(request, c_null_ptr, ierror)
  call expect("a stream without a device", STOKER_ERR_STATE, "driver")
  call stoker_start(request, ierror)
  call stoker_request_free(request, ierror)
  call expect("free of an active request", STOKER_ERR_STATE, "")
  call stoker_wait(request, ierror)
  call stoker_request_free(request, ierror)
  call expect("free", STOKER_SUCCESS, "")

  call stoker_alloc(engine, 64_c_size_t, memory, ierror)
  call c_f_pointer(memory, shared, [16])
  shared = 1
  call stoker_dealloc(shared(1:1), ierror)
  call expect("dealloc", STOKER_SUCCESS, "")
  call stoker_dealloc(block, ierror)
  call expect("dealloc of other memory", STOKER_ERR_ARGUMENT, "memory")

  dead = engine
  call stoker_engine_destroy(engine, ierror)
  call expect_null("destroyed engine", engine%handle)
  call stoker_pause(dead, ierror)
  call expect("a dead engine", STOKER_ERR_REQUEST, "engine")
  do code = STOKER_SUCCESS, STOKER_ERR_PEER_LOST
    if (len(stoker_error_string(code)) == 0) call complain("a code without a text", ierror)
  end do
  call MPI_Finalize()
  if (wrong /= 0) stop 1

contains

  subroutine expect(what, expected, part)
    character(len=*), intent(in) :: what, part
    integer, intent(in) :: expected
    character(len=:), allocatable :: message

    message = stoker_error_message()
    if (ierror == expected .and. (ierror == STOKER_SUCCESS .or. index(message, part) > 0)) return
    call complain(what, ierror)
  end subroutine

  subroutine expect_null(what, handle)
    character(len=*), intent(in) :: what
    integer(c_intptr_t), intent(in) :: handle
    if (handle /= 0) call complain(what//" is not null", ierror)
  end subroutine

  subroutine complain(what, seen)
    character(len=*), intent(in) :: what
    integer, intent(in) :: seen
    print '(a, ": code ", i0, ", ", a)', what, seen, stoker_error_message()
    wrong = wrong + 1
  end subroutine

end program
