! SPDX-License-Identifier: BSD-3-Clause
! The same as call_sites.c with a module around the MPI library.
module exchanges
  use mpi
  implicit none
  integer, parameter :: elements = 65536
contains
  subroutine exchange(send, receive)
    integer, intent(in) :: send(:)
    integer, intent(inout) :: receive(:)
    integer :: request, error
    call MPI_Ialltoall(send, elements, MPI_INTEGER, receive, elements, MPI_INTEGER, MPI_COMM_WORLD, request, error)
    call MPI_Wait(request, MPI_STATUS_IGNORE, error)
  end subroutine
end module

program call_sites
  use exchanges
  implicit none
  integer, allocatable :: send(:), receive(:)
  integer :: rank, ranks, error
  call MPI_Init(error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  allocate (send(ranks * elements), receive(ranks * elements))
  send = rank + 1
  receive = 0
  call predict
  call correct
  if (any(receive(1:elements) /= 1)) error stop "wrong data"
  call MPI_Finalize(error)
contains
  subroutine predict
    integer :: step
    do step = 1, 3
      call exchange(send, receive)
    end do
  end subroutine
  subroutine correct
    integer :: step
    do step = 1, 5
      call exchange(send, receive)
    end do
  end subroutine
end program
