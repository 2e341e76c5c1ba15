! SPDX-License-Identifier: BSD-3-Clause
! MPI_Alloc_mem from Fortran, and arrays of Fortran's own, in a collective. Compiled three times, like conformance.F90.
!
!   memory [PLACE...]      PLACE: alloc_mem or heap: such memory has to begin with a page, as it does in an arena
program memory
#if defined(USE_MPI_F08)
  use mpi_f08
#elif defined(USE_MPI)
  use mpi
#endif
  use, intrinsic :: iso_c_binding
  implicit none
#if !defined(USE_MPI_F08) && !defined(USE_MPI)
  include 'mpif.h'
#endif
  integer, parameter :: count = 100000, page = 4096
  integer(kind=MPI_ADDRESS_KIND), parameter :: bytes = 4 * count
  integer, pointer, asynchronous :: given(:)
  integer, allocatable, target, asynchronous :: own(:)
#if defined(USE_MPI_F08)
  type(c_ptr) :: base
#else
  integer(kind=MPI_ADDRESS_KIND) :: base
#endif
  integer :: rank, ranks, epoch, ierror

  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  call MPI_Alloc_mem(bytes, MPI_INFO_NULL, base, ierror)
  call expect(ierror == MPI_SUCCESS, 'MPI_Alloc_mem')
#if defined(USE_MPI_F08)
  call c_f_pointer(base, given, [count])
#else
  call c_f_pointer(transfer(base, c_null_ptr), given, [count])
#endif
  allocate (own(count))
  call expect(is_asked_for('alloc_mem') .eqv. mod(address(c_loc(given)), int(page, c_intptr_t)) == 0, 'place of given')
  call expect(is_asked_for('heap') .eqv. mod(address(c_loc(own)), int(page, c_intptr_t)) == 0, 'place of own')
  do epoch = 1, 5
    given = rank + epoch
    call MPI_Allreduce(given, own, count, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
    call expect(ierror == MPI_SUCCESS .and. all(own == ranks * epoch + ranks * (ranks - 1) / 2), 'sum')
  end do
  call MPI_Free_mem(given, ierror)
  call expect(ierror == MPI_SUCCESS, 'MPI_Free_mem')
  deallocate (own)
  call MPI_Finalize(ierror)

contains

  subroutine expect(condition, what)
    logical, intent(in) :: condition
    character(len=*), intent(in) :: what
    if (.not. condition) then
      write (0, '(a,i0,2a)') 'FAILED rank ', rank, ': ', what
      call MPI_Abort(MPI_COMM_WORLD, 1, ierror)
    end if
  end subroutine

  logical function is_asked_for(place)
    character(len=*), intent(in) :: place
    character(len=20) :: argument
    integer :: i
    is_asked_for = .false.
    do i = 1, command_argument_count()
      call get_command_argument(i, argument)
      is_asked_for = is_asked_for .or. argument == place
    end do
  end function

  integer(c_intptr_t) function address(pointer)
    type(c_ptr), intent(in) :: pointer
    address = transfer(pointer, address)
  end function
end program
