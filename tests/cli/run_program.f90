! SPDX-License-Identifier: BSD-3-Clause
! The same in Fortran.
program run_program
  use mpi
  implicit none
  integer, parameter :: ints = 16384, steps = 5
  integer :: ranks, step, request, error
  integer, allocatable :: in(:), out(:)
  call MPI_Init(error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  allocate(in(ranks * ints), out(ranks * ints))
  in = 0
  do step = 1, steps
    call MPI_Ialltoall(in, ints, MPI_INTEGER, out, ints, MPI_INTEGER, MPI_COMM_WORLD, request, error)
    call MPI_Wait(request, MPI_STATUS_IGNORE, error)
    call MPI_Allreduce(in, out, ints, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
  end do
  call MPI_Finalize(error)
end program
