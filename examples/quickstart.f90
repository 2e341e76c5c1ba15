! SPDX-License-Identifier: BSD-3-Clause
! The shortest use of stoker from Fortran: an all-to-all that runs while the program computes.
!   mpifort quickstart.f90 $(pkg-config --cflags --libs stoker-fortran) -o quickstart
program quickstart
  use, intrinsic :: iso_fortran_env, only: real64
  use mpi_f08
  use stoker
  implicit none
  integer, parameter :: block = 65536 ! integers for each rank
  integer, allocatable, asynchronous :: send(:, :), recv(:, :) ! a column for each rank
  real(real64) :: total
  type(stoker_engine) :: engine
  type(stoker_request) :: request
  integer :: level, rank, ranks, peer, step, i
  logical :: correct

  call MPI_Init_thread(MPI_THREAD_MULTIPLE, level)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  allocate (send(block, 0:ranks - 1), recv(block, 0:ranks - 1))

  call stoker_engine_create(MPI_COMM_WORLD, engine) ! without ierror, an error ends the program with its message
  call stoker_alltoall_init(send, block, MPI_INTEGER, recv, block, MPI_INTEGER, MPI_COMM_WORLD, MPI_INFO_NULL, engine, &
    request)

  correct = .true.
  do step = 1, 3
    do peer = 0, ranks - 1
      send(:, peer) = step*(1000*rank + peer) ! from whom, to whom
    end do
    call stoker_start(request)
    total = 0 ! compute: the exchange proceeds meanwhile
    do i = 1, 2000000
      total = total + 1/real(i, real64)**2
    end do
    call stoker_wait(request)
    do peer = 0, ranks - 1
      correct = correct .and. all(recv(:, peer) == step*(1000*peer + rank))
    end do
    correct = correct .and. total > 1.644 .and. total < 1.645 ! pi**2 / 6
  end do

  call stoker_request_free(request)
  call stoker_engine_destroy(engine)
  print '("rank ", i0, " of ", i0, ": ", a)', rank, ranks, merge("correct", "WRONG  ", correct)
  call MPI_Finalize()
  if (.not. correct) stop 1
end program
