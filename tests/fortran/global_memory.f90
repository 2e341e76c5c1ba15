! SPDX-License-Identifier: BSD-3-Clause
! Global memory from Fortran: puts, gets, signals and atomics to the right neighbor, three times with fresh data.
program global_memory
  use, intrinsic :: iso_c_binding
  use mpi_f08
  use stoker
  implicit none
  integer, parameter :: n = 1000
  integer(c_size_t), parameter :: bytes = n*8_c_size_t, word = 8
  type(stoker_engine) :: engine
  type(stoker_global) :: global
  type(stoker_team) :: team
  type(stoker_gptr) :: row, flag, counter, own
  type(stoker_transfer) :: transfers(2)
  type(stoker_global_statistics) :: statistics
  type(c_ptr) :: address
  integer(c_int64_t), asynchronous :: sent(n), fetched(n)
  integer(c_int64_t), pointer :: mine(:)
  integer(c_int64_t) :: before
  integer :: level, rank, ranks, right, left, unit, epoch, i, wrong = 0, all_wrong
  logical :: complete

  call MPI_Init_thread(MPI_THREAD_MULTIPLE, level)
  call stoker_engine_create(MPI_COMM_WORLD, engine)
  call stoker_global_create(engine, 4096_c_size_t, global)
  call stoker_team_create(global, MPI_COMM_WORLD, team)
  call stoker_team_rank(team, rank)
  call stoker_team_size(team, ranks)
  right = modulo(rank + 1, ranks)
  left = modulo(rank - 1, ranks)
  call stoker_team_unit(team, rank, unit)
  call expect("unit", unit == rank)
  call stoker_team_allocate(team, bytes, row)
  call stoker_team_allocate(team, word, flag)
  call stoker_team_allocate(team, word, counter) ! that of unit 0

  do epoch = 1, 3
    sent = [(int(rank*100000 + epoch*10000 + i, c_int64_t), i=1, n)]
    row%unit = right
    flag%unit = right
    select case (epoch)
    case (1)
      call stoker_put(global, row, sent, bytes)
      call stoker_put(global, flag, [int(epoch, c_int64_t)], word)
    case (2)
      call stoker_put_signal_nb(global, row, sent, bytes, flag, int(epoch, c_int64_t), transfers(1))
      complete = .false.
      do while (.not. complete)
        call stoker_transfer_test(transfers(1), complete)
      end do
      call expect("handle of a complete transfer", transfers(1)%handle == 0)
    case (3)
      call stoker_put_signal_nb(global, row, sent, bytes, flag, int(epoch, c_int64_t)) ! no handle
      call stoker_flush(global, right)
    end select

    row%unit = rank
    flag%unit = rank
    call stoker_wait_until(global, flag, STOKER_GE, int(epoch, c_int64_t))
    call stoker_global_address(global, row, bytes, address)
    call c_f_pointer(address, mine, [n])
    call expect("row from the left", all(mine == [(int(left*100000 + epoch*10000 + i, c_int64_t), i=1, n)]))
    call MPI_Barrier(MPI_COMM_WORLD)

    fetched = -1
    row%unit = right
    call stoker_get_nb(global, fetched(:n/2), row, bytes/2, transfers(1))
    row%offset = row%offset + bytes/2
    call stoker_get_nb(global, fetched(n/2 + 1:), row, bytes/2, transfers(2))
    row%offset = row%offset - bytes/2
    call stoker_transfer_waitall(2, transfers)
    call expect("what was put at the right", all(fetched == sent))

    call stoker_fetch_and_op(global, counter, MPI_INTEGER8, MPI_SUM, 1_c_int64_t, before)
    call expect("fetch_and_op", before >= (epoch - 1)*ranks .and. before < epoch*ranks)
    call MPI_Barrier(MPI_COMM_WORLD)
    call stoker_get(global, before, counter, word)
    call expect("sum of all", before == epoch*ranks)
    call MPI_Barrier(MPI_COMM_WORLD)
  end do

  call stoker_compare_and_swap(global, counter, MPI_INTEGER8, -1_c_int64_t, 0_c_int64_t, before)
  call expect("compare_and_swap of another value", before == 3*ranks)
  call MPI_Barrier(MPI_COMM_WORLD)
  call stoker_accumulate(global, counter, MPI_INTEGER8, MPI_SUM, [2_c_int64_t], 1_c_size_t)
  call MPI_Barrier(MPI_COMM_WORLD)
  call stoker_get(global, before, counter, word)
  call expect("accumulate", before == 5*ranks)

  call atomics_together
  call stoker_global_allocate(global, word, own)
  call expect("own allocation", own%unit == rank .and. own%segment == 0)
  call stoker_global_deallocate(global, own)
  call stoker_flush_all(global)
  call stoker_global_get_statistics(global, statistics)
  call expect("statistics", statistics%node_transfers + statistics%wire_transfers > 0)
  call stoker_team_deallocate(team, row)
  call stoker_team_free(team)
  call stoker_global_free(global)
  call stoker_engine_destroy(engine)
  call MPI_Allreduce(wrong, all_wrong, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  call MPI_Finalize()
  if (all_wrong /= 0) stop 1

contains

  !> Nonblocking ones, and many in one call: on an own element of unit 0 for each rank.
  subroutine atomics_together
    type(stoker_gptr) :: element
    type(stoker_transfer) :: transfer
    integer(c_int64_t), asynchronous :: results(2), operands(2)

    call stoker_team_allocate(team, word*ranks, element)
    element%offset = element%offset + word*rank
    call stoker_fetch_and_op_nb(global, element, MPI_INTEGER8, MPI_SUM, 5_c_int64_t, results(1), transfer)
    call stoker_transfer_wait(transfer)
    operands = [2, 0]
    call stoker_accumulate_nb(global, element, MPI_INTEGER8, MPI_SUM, operands, 1_c_size_t)
    call stoker_flush(global, 0)
    call stoker_compare_and_swap_nb(global, element, MPI_INTEGER8, 7_c_int64_t, 9_c_int64_t, results(2), transfer)
    call stoker_transfer_wait(transfer)
    call expect("nonblocking atomics", all(results == [0, 7]))
    operands = [10, 20]
    call stoker_accumulate_many(global, [element, element], MPI_INTEGER8, MPI_SUM, operands, 2_c_size_t)
    operands = 1
    call stoker_fetch_and_op_many(global, [element, element], MPI_INTEGER8, MPI_SUM, operands, results, 2_c_size_t)
    call expect("many atomics", minval(results) == 39 .and. maxval(results) == 40)
    call MPI_Barrier(MPI_COMM_WORLD)
  end subroutine

  subroutine expect(what, holds)
    character(len=*), intent(in) :: what
    logical, intent(in) :: holds
    if (holds) return
    print '("rank ", i0, ", epoch ", i0, ": ", a)', rank, epoch, what
    wrong = wrong + 1
  end subroutine

end program
