! SPDX-License-Identifier: BSD-3-Clause
! Collectives and requests from Fortran, for whatever implements them: it names nothing but MPI. Compiled three times, as a user
! of mpif.h (neither macro), of the module mpi (USE_MPI) and of mpi_f08 (USE_MPI_F08); with PERSISTENT where the library has
! persistent collectives, MPICH, and MPICH_40 for what that one's bindings do wrong.
#if defined(USE_MPI_F08)
#define REQUEST type(MPI_Request)
#define DATATYPE type(MPI_Datatype)
#define OPERATOR type(MPI_Op)
#define STATUS type(MPI_Status)
#define STATUSES(n) type(MPI_Status), dimension(n)
#define OF_STATUS(statuses, field, i) statuses(i)%field
#else
#define REQUEST integer
#define DATATYPE integer
#define OPERATOR integer
#define STATUS integer, dimension(MPI_STATUS_SIZE)
#define STATUSES(n) integer, dimension(MPI_STATUS_SIZE, n)
#define OF_STATUS(statuses, field, i) statuses(field, i)
#endif

module counting
  implicit none
  integer :: failures = 0, rank = -1
  character(len=80) :: context = ''
contains
  subroutine expect(condition, what)
    logical, intent(in) :: condition
    character(len=*), intent(in) :: what
    if (.not. condition) then
      failures = failures + 1
      if (failures <= 20) write (0, '(a,i0,4a)') 'FAILED rank ', rank, ': ', trim(context), ': ', what
    end if
  end subroutine

  subroutine try(what, count, epoch)
    character(len=*), intent(in) :: what
    integer, intent(in) :: count, epoch
    write (context, '(a,a,i0,a,i0)') what, ' of ', count, ', epoch ', epoch
  end subroutine
end module

! The smaller of two values, by a rule of the user's.
module operators
  implicit none
contains
#if defined(USE_MPI_F08)
  subroutine smaller(left, right, length, type)
    use mpi_f08
    use, intrinsic :: iso_c_binding
    type(c_ptr), value :: left, right
    integer :: length
    DATATYPE :: type
    integer, pointer :: l(:), r(:)
    call c_f_pointer(left, l, [length])
    call c_f_pointer(right, r, [length])
    if (type == MPI_INTEGER) r = min(l, r)
  end subroutine
#else
  subroutine smaller(left, right, length, type)
#if defined(USE_MPI)
    use mpi
#else
    include 'mpif.h'
#endif
    integer :: length, left(length), right(length), type
    if (type == MPI_INTEGER) right = min(left, right)
  end subroutine
#endif
end module

program conformance
#if defined(USE_MPI_F08)
  use mpi_f08
#elif defined(USE_MPI)
  use mpi
#endif
  use counting
  use operators
  implicit none
#if !defined(USE_MPI_F08) && !defined(USE_MPI)
  include 'mpif.h'
#endif
  integer, parameter :: large = 20000, small = 5
  integer, allocatable, asynchronous :: in(:), out(:), message(:), received(:)
  integer :: ranks, ierror, size, count, epoch

  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)

  do size = 1, 2
    count = merge(small, large, size == 1)
    allocate (in(count * ranks), out(count * ranks), message(count), received(count))
    do epoch = 1, 4
      call exchange()
      call reduce_all()
      call in_place()
      call broadcast()
      call bottom()
      call own_operator()
      call mixed()
      call any_and_some()
      call blocking()
    end do
#if defined(PERSISTENT)
    call persistent()
#endif
    deallocate (in, out, message, received)
  end do
  context = 'null'
  call null_requests()

  call MPI_Allreduce(MPI_IN_PLACE, failures, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
  call MPI_Finalize(ierror)
  if (failures > 0) stop 1

contains

  ! What a rank has for another at a place.
  elemental integer function datum(from, to, place)
    integer, intent(in) :: from, to, place
    datum = from * 100003 + to * 1009 + place * 7 + epoch * 31
  end function

  subroutine fill_for_all()
    integer :: to, i
    do to = 0, ranks - 1
      in(to * count + 1:(to + 1) * count) = [(datum(rank, to, i), i=1, count)]
    end do
    out = -epoch
  end subroutine

  logical function received_from_all()
    integer :: from, i
    received_from_all = .true.
    do from = 0, ranks - 1
      do i = 1, count
        if (out(from * count + i) /= datum(from, rank, i)) received_from_all = .false.
      end do
    end do
  end function

  integer function sum_at(i)
    integer, intent(in) :: i
    integer :: from
    sum_at = 0
    do from = 0, ranks - 1
      sum_at = sum_at + datum(from, 0, i)
    end do
  end function

  logical function is_sum(values)
    integer, intent(in) :: values(:)
    integer :: i
    is_sum = .true.
    do i = 1, count
      if (values(i) /= sum_at(i)) is_sum = .false.
    end do
  end function

  subroutine exchange()
    REQUEST :: r
    STATUS :: s
    logical :: done
    call try('Ialltoall', count, epoch)
    call fill_for_all()
    call MPI_Ialltoall(in, count, MPI_INTEGER, out, count, MPI_INTEGER, MPI_COMM_WORLD, r, ierror)
    call expect(ierror == MPI_SUCCESS, 'the call')
    call expect(r /= MPI_REQUEST_NULL, 'a request')
    if (mod(epoch, 2) == 0) then
      call MPI_Wait(r, MPI_STATUS_IGNORE, ierror)
    else
      done = .false.
      do while (.not. done)
        call MPI_Request_get_status(r, done, s, ierror)
      end do
      call expect(r /= MPI_REQUEST_NULL, 'not freed by Request_get_status')
      done = .false.
      do while (.not. done)
        call MPI_Test(r, done, s, ierror)
      end do
    end if
    call expect(ierror == MPI_SUCCESS, 'completion')
    call expect(r == MPI_REQUEST_NULL, 'the request is freed')
    call expect(received_from_all(), 'what arrived')
  end subroutine

  subroutine reduce_all()
    REQUEST :: r
    call try('Iallreduce', count, epoch)
    call fill_for_all()
    call MPI_Iallreduce(in, out, count, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, r, ierror)
    call MPI_Wait(r, MPI_STATUS_IGNORE, ierror)
    call expect(sums_of_first(), 'the sum')
    call try('Iallreduce in place', count, epoch)
    out(1:count) = in(1:count)
    call MPI_Iallreduce(MPI_IN_PLACE, out, count, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, r, ierror)
    call MPI_Wait(r, MPI_STATUS_IGNORE, ierror)
    call expect(sums_of_first(), 'the sum')
  end subroutine

  ! in begins with what is for rank 0.
  logical function sums_of_first()
    sums_of_first = is_sum(out(1:count))
  end function

  subroutine in_place()
    REQUEST :: r
    integer :: from, i
    logical :: right
    call try('Iallgather in place', count, epoch)
    out = -epoch
    out(rank * count + 1:(rank + 1) * count) = [(datum(rank, 1, i), i=1, count)]
    call MPI_Iallgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out, count, MPI_INTEGER, MPI_COMM_WORLD, r, ierror)
    call MPI_Wait(r, MPI_STATUS_IGNORE, ierror)
    right = .true.
    do from = 0, ranks - 1
      do i = 1, count
        if (out(from * count + i) /= datum(from, 1, i)) right = .false.
      end do
    end do
    call expect(right, 'what arrived')

    call try('Ialltoall in place', count, epoch)
    call fill_for_all()
    out = in
    call MPI_Ialltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out, count, MPI_INTEGER, MPI_COMM_WORLD, r, ierror)
    call MPI_Wait(r, MPI_STATUS_IGNORE, ierror)
    call expect(received_from_all(), 'what arrived')
  end subroutine

  subroutine broadcast()
    REQUEST :: r
    integer :: root, i
    root = mod(epoch, ranks)
    call try('Ibcast', count, epoch)
    message = merge([(datum(root, 2, i), i=1, count)], -1, rank == root)
    call MPI_Ibcast(message, count, MPI_INTEGER, root, MPI_COMM_WORLD, r, ierror)
    call MPI_Wait(r, MPI_STATUS_IGNORE, ierror)
    call expect(all(message == [(datum(root, 2, i), i=1, count)]), 'what arrived')
  end subroutine

  ! A datatype of absolute addresses.
  subroutine bottom()
    REQUEST :: r
    DATATYPE :: type
    integer(kind=MPI_ADDRESS_KIND) :: address(1)
    integer :: i, length(1)
    call try('Ibcast from MPI_BOTTOM', count, epoch)
    message = merge([(datum(0, 3, i), i=1, count)], -1, rank == 0)
    call MPI_Get_address(message, address(1), ierror)
    length = count
    call MPI_Type_create_hindexed(1, length, address, MPI_INTEGER, type, ierror)
    call MPI_Type_commit(type, ierror)
    call MPI_Ibcast(MPI_BOTTOM, 1, type, 0, MPI_COMM_WORLD, r, ierror)
    call MPI_Type_free(type, ierror)
    call MPI_Wait(r, MPI_STATUS_IGNORE, ierror)
    call expect(all(message == [(datum(0, 3, i), i=1, count)]), 'what arrived')
  end subroutine

  subroutine own_operator()
    REQUEST :: r
    OPERATOR :: op
    integer :: i, from
    logical :: right
    call try('Iallreduce with an operator of the user''s', count, epoch)
    message = [(mod(rank * 7 + i * 5 + epoch, 11), i=1, count)]
    received = -1
    call MPI_Op_create(smaller, .true., op, ierror)
    call MPI_Iallreduce(message, received, count, MPI_INTEGER, op, MPI_COMM_WORLD, r, ierror)
    call MPI_Op_free(op, ierror)
    call MPI_Wait(r, MPI_STATUS_IGNORE, ierror)
    right = .true.
    do i = 1, count
      if (received(i) /= minval([(mod(from * 7 + i * 5 + epoch, 11), from=0, ranks - 1)])) right = .false.
    end do
    call expect(right, 'the smallest')
  end subroutine

  subroutine mixed()
    integer, parameter :: n = 6
    REQUEST :: r(n)
    STATUSES(n) :: s
    integer :: left, i
    logical :: right
    left = mod(rank + ranks - 1, ranks)
    call try('Waitall of a mixed array', count, epoch)
    call fill_for_all()
    message = [(datum(rank, 9, i), i=1, count)]
    received = -1
    call MPI_Irecv(received, count, MPI_INTEGER, left, 4, MPI_COMM_WORLD, r(1), ierror)
    call MPI_Ialltoall(in, count, MPI_INTEGER, out, count, MPI_INTEGER, MPI_COMM_WORLD, r(2), ierror)
    r(3) = MPI_REQUEST_NULL
    call MPI_Ibarrier(MPI_COMM_WORLD, r(4), ierror)
    call MPI_Isend(message, count, MPI_INTEGER, mod(rank + 1, ranks), 4, MPI_COMM_WORLD, r(5), ierror)
    r(6) = r(3)
    if (mod(epoch, 2) == 0) then
      call MPI_Waitall(n, r, s, ierror)
      call expect(OF_STATUS(s, MPI_SOURCE, 1) == left, 'the source in the status')
      call expect(OF_STATUS(s, MPI_TAG, 1) == 4, 'the tag in the status')
      call expect(OF_STATUS(s, MPI_SOURCE, 3) == MPI_ANY_SOURCE, 'an empty status')
    else
      call MPI_Waitall(n, r, MPI_STATUSES_IGNORE, ierror)
    end if
    call expect(ierror == MPI_SUCCESS, 'Waitall')
    right = .true.
    do i = 1, n
      if (r(i) /= MPI_REQUEST_NULL) right = .false.
    end do
    call expect(right, 'all requests are freed')
    call expect(received_from_all(), 'what the exchange brought')
    call expect(all(received == [(datum(left, 9, i), i=1, count)]), 'what the message brought')
  end subroutine

  subroutine any_and_some()
    integer, parameter :: n = 4
    REQUEST :: r(n)
    STATUSES(n) :: s
    STATUS :: one
    integer :: way, index, indices(n), outcount, seen(n), finished, i
    logical :: done
    integer, asynchronous, allocatable :: sums(:)
    allocate (sums(count))
    do way = 1, 3
      call try(merge('Waitany ', merge('Testsome', 'Waitsome', way == 2), way == 1), count, epoch)
      call fill_for_all()
      message = merge([(datum(0, 5, i), i=1, count)], -1, rank == 0)
      call MPI_Ialltoall(in, count, MPI_INTEGER, out, count, MPI_INTEGER, MPI_COMM_WORLD, r(1), ierror)
      r(2) = MPI_REQUEST_NULL
      call MPI_Ibcast(message, count, MPI_INTEGER, 0, MPI_COMM_WORLD, r(3), ierror)
      call MPI_Iallreduce(in, sums, count, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, r(4), ierror)
      seen = 0
      finished = 0
      do while (finished < 3)
        if (way == 1) then
          call MPI_Waitany(n, r, index, one, ierror)
          outcount = 1
          indices(1) = index
        else if (way == 2) then
          call MPI_Testsome(n, r, outcount, indices, s, ierror)
        else
          call MPI_Waitsome(n, r, outcount, indices, s, ierror)
        end if
#if defined(USE_MPI_F08) && defined(MPICH_40)
        indices(1:outcount) = indices(1:outcount) + 1 ! its mpi_f08 counts from 0
#endif
        do i = 1, outcount
          call expect(indices(i) >= 1 .and. indices(i) <= n, 'an index')
          if (indices(i) >= 1 .and. indices(i) <= n) seen(indices(i)) = seen(indices(i)) + 1
        end do
        finished = finished + outcount
      end do
      call expect(all(seen == [1, 0, 1, 1]), 'each is reported once')
      call MPI_Waitany(n, r, index, MPI_STATUS_IGNORE, ierror)
! MPICH 4.0 adds 1, and so does mpi_f08 of 4.2.
#if !defined(MPICH_40) && !(defined(USE_MPI_F08) && defined(MPICH))
      call expect(index == MPI_UNDEFINED, 'nothing active: MPI_UNDEFINED')
#endif
      call MPI_Testany(n, r, index, done, MPI_STATUS_IGNORE, ierror)
      call expect(done, 'nothing active: true')
      call MPI_Testall(n, r, done, MPI_STATUSES_IGNORE, ierror)
      call expect(done, 'nothing active: true')
      call expect(received_from_all(), 'what the exchange brought')
      call expect(all(message == [(datum(0, 5, i), i=1, count)]), 'what the broadcast brought')
      call expect(is_sum(sums), 'the sum')
    end do
  end subroutine

  subroutine blocking()
    call try('Alltoall', count, epoch)
    call fill_for_all()
    call MPI_Alltoall(in, count, MPI_INTEGER, out, count, MPI_INTEGER, MPI_COMM_WORLD, ierror)
    call expect(received_from_all(), 'what arrived')
    call try('Allreduce in place', count, epoch)
    out(1:count) = in(1:count)
    call MPI_Allreduce(MPI_IN_PLACE, out, count, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
    call expect(sums_of_first(), 'the sum')
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
  end subroutine

#if defined(PERSISTENT)
  subroutine persistent()
    REQUEST :: r(3), before
    integer :: i, left
    left = mod(rank + ranks - 1, ranks)
    call MPI_Alltoall_init(in, count, MPI_INTEGER, out, count, MPI_INTEGER, MPI_COMM_WORLD, MPI_INFO_NULL, r(1), ierror)
    call MPI_Allreduce_init(MPI_IN_PLACE, message, count, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, r(2), &
                            ierror)
    call MPI_Recv_init(received, count, MPI_INTEGER, left, 8, MPI_COMM_WORLD, r(3), ierror)
    before = r(1)
    do epoch = 1, 4
      call try('persistent', count, epoch)
      call fill_for_all()
      received = -1
      message = [(datum(rank, 0, i), i=1, count)]
      if (mod(epoch + rank, 2) == 0) then
        call MPI_Startall(3, r, ierror)
      else
        do i = 3, 1, -1
          call MPI_Start(r(i), ierror)
        end do
      end if
      call MPI_Send(in, count, MPI_INTEGER, mod(rank + 1, ranks), 8, MPI_COMM_WORLD, ierror)
      call MPI_Waitall(3, r, MPI_STATUSES_IGNORE, ierror)
      call expect(r(1) == before, 'the handle stays')
      call expect(received_from_all(), 'what the exchange brought')
      call expect(is_sum(message), 'the sum')
      call expect(all(received == [(datum(left, 0, i), i=1, count)]), 'what the message brought')
    end do
    do i = 1, 3
      call MPI_Request_free(r(i), ierror)
      call expect(r(i) == MPI_REQUEST_NULL, 'freed')
    end do
  end subroutine
#endif

  subroutine null_requests()
    REQUEST :: r
    STATUS :: s
    logical :: done
    r = MPI_REQUEST_NULL
    call MPI_Wait(r, s, ierror)
    call expect(ierror == MPI_SUCCESS, 'Wait')
    call MPI_Test(r, done, s, ierror)
    call expect(done, 'Test')
    call expect(r == MPI_REQUEST_NULL, 'null it stays')
  end subroutine
end program
