! SPDX-License-Identifier: BSD-3-Clause
! Every collective from Fortran: persistent, three epochs with fresh data and poisoned results; blocking. Counts are of both
! kinds. A rank with number r sends r*100 + i + epoch*10000 as its element i.
module expectations
  implicit none
  integer, parameter :: n = 3, poison = -7
  integer :: rank, ranks, root

contains

  elemental integer function sent(from, index, epoch)
    integer, intent(in) :: from, index, epoch
    sent = from*100 + index + epoch*10000
  end function

  function transposed(epoch) result(expected) ! block i from rank i
    integer, intent(in) :: epoch
    integer, allocatable :: expected(:)
    integer :: from, j
    expected = [((sent(from, rank*n + j, epoch), j=1, n), from=0, ranks - 1)]
  end function

  function reversed(epoch) result(expected) ! to and from the blocks of displs
    integer, intent(in) :: epoch
    integer, allocatable :: expected(:)
    integer :: from, j
    expected = [((sent(from, (ranks - 1 - rank)*n + j, epoch), j=1, n), from=ranks - 1, 0, -1)]
  end function

  function ring(epoch) result(expected) ! from the left neighbor what it sends to the right, and from the right one
    integer, intent(in) :: epoch
    integer, allocatable :: expected(:)
    integer :: j
    expected = [(sent(modulo(rank - 1, ranks), n + j, epoch), j=1, n), (sent(modulo(rank + 1, ranks), j, epoch), j=1, n)]
  end function

  function total(epoch) result(expected)
    integer, intent(in) :: epoch
    integer, allocatable :: expected(:)
    expected = sums(0, ranks - 1, epoch)
  end function

  function total_at_root(epoch) result(expected)
    integer, intent(in) :: epoch
    integer, allocatable :: expected(:)
    expected = merge(total(epoch), poison, rank == root)
  end function

  function own_block_of_total(epoch) result(expected)
    integer, intent(in) :: epoch
    integer, allocatable :: expected(:)
    integer :: j, from
    expected = [(sum([(sent(from, rank*n + j, epoch), from=0, ranks - 1)]), j=1, n)]
  end function

  function prefix(epoch) result(expected)
    integer, intent(in) :: epoch
    integer, allocatable :: expected(:)
    expected = sums(0, rank, epoch)
  end function

  function prefix_before(epoch) result(expected)
    integer, intent(in) :: epoch
    integer, allocatable :: expected(:)
    expected = merge(sums(0, rank - 1, epoch), poison, rank > 0)
  end function

  function sums(first, last, epoch) result(expected) ! of the operands of these ranks
    integer, intent(in) :: first, last, epoch
    integer, allocatable :: expected(:)
    integer :: j, from
    expected = [(sum([(sent(from, j, epoch), from=first, last)]), j=1, n)]
  end function

  function gathered(epoch) result(expected)
    integer, intent(in) :: epoch
    integer, allocatable :: expected(:)
    integer :: from, j
    expected = [((sent(from, j, epoch), j=1, n), from=0, ranks - 1)]
  end function

  function gathered_in_reverse(epoch) result(expected)
    integer, intent(in) :: epoch
    integer, allocatable :: expected(:)
    integer :: from, j
    expected = [((sent(from, j, epoch), j=1, n), from=ranks - 1, 0, -1)]
  end function

  function gathered_at_root(epoch) result(expected)
    integer, intent(in) :: epoch
    integer, allocatable :: expected(:)
    expected = merge(gathered(epoch), poison, rank == root)
  end function

  function gathered_at_root_in_reverse(epoch) result(expected)
    integer, intent(in) :: epoch
    integer, allocatable :: expected(:)
    expected = merge(gathered_in_reverse(epoch), poison, rank == root)
  end function

  function scattered(epoch) result(expected)
    integer, intent(in) :: epoch
    integer, allocatable :: expected(:)
    integer :: j
    expected = [(sent(root, rank*n + j, epoch), j=1, n)]
  end function

  function scattered_in_reverse(epoch) result(expected)
    integer, intent(in) :: epoch
    integer, allocatable :: expected(:)
    integer :: j
    expected = [(sent(root, (ranks - 1 - rank)*n + j, epoch), j=1, n)]
  end function

  function of_root(epoch) result(expected)
    integer, intent(in) :: epoch
    integer, allocatable :: expected(:)
    integer :: j
    expected = [(sent(root, j, epoch), j=1, n)]
  end function

end module

program collectives
  use mpi_f08
  use stoker
  use expectations
  implicit none
  integer(MPI_COUNT_KIND), parameter :: n_c = n
  type(stoker_engine) :: engine
  type(stoker_request) :: request
  integer, allocatable, asynchronous :: send(:), recv(:)
  integer, allocatable :: counts(:), displs(:)
  integer(MPI_COUNT_KIND), allocatable :: counts_c(:)
  integer(MPI_ADDRESS_KIND), allocatable :: displs_c(:)
  integer :: level, i, wrong = 0, all_wrong

  call MPI_Init_thread(MPI_THREAD_MULTIPLE, level)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  root = ranks - 1
  allocate (send(n*ranks), recv(n*ranks))
  counts = [(n, i=1, ranks)]
  displs = [(n*(ranks - i), i=1, ranks)] ! blocks in reverse order
  counts_c = counts
  displs_c = displs
  call stoker_engine_create(MPI_COMM_WORLD, ["executor=auto", "log=error    "], engine)

  call all_to_all
  call neighbors
  call reductions
  call gathers_and_scatters
  call several
  call blocking

  call stoker_engine_destroy(engine)
  call MPI_Allreduce(wrong, all_wrong, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  call MPI_Finalize()
  if (all_wrong /= 0) stop 1

contains

  subroutine expect(name, epoch, seen, expected)
    character(len=*), intent(in) :: name
    integer, intent(in) :: epoch, seen(:), expected(:)
    if (size(seen) == size(expected)) then
      if (all(seen == expected)) return
    end if
    print '("rank ", i0, ", ", a, ", epoch ", i0, ": ", *(i0, 1x))', rank, name, epoch, seen
    print '("expected ", *(i0, 1x))', expected
    wrong = wrong + 1
  end subroutine

  subroutine fill(epoch)
    integer, intent(in) :: epoch
    send = sent(rank, [(i, i=1, n*ranks)], epoch)
    recv = poison
  end subroutine

  !> Three epochs of `request`, whose result are the first elements of recv: `expected` of the epoch's data.
  subroutine three_epochs(name, expected, in_place)
    character(len=*), intent(in) :: name
    interface
      function expected(epoch)
        integer, intent(in) :: epoch
        integer, allocatable :: expected(:)
      end function
    end interface
    logical, optional, intent(in) :: in_place
    integer :: epoch
    logical :: complete

    do epoch = 1, 3
      call fill(epoch)
      if (present(in_place)) recv = send
      call stoker_start(request)
      complete = .false.
      do while (epoch == 2 .and. .not. complete)
        call stoker_test(request, complete)
      end do
      call stoker_wait(request)
      call expect(name, epoch, recv(:size(expected(epoch))), expected(epoch))
    end do
    call stoker_request_free(request)
  end subroutine

  subroutine all_to_all
    call stoker_alltoall_init(send, n, MPI_INTEGER, recv, n, MPI_INTEGER, MPI_COMM_WORLD, MPI_INFO_NULL, engine, request)
    call three_epochs("alltoall", transposed)
    call stoker_alltoall_init(send, n_c, MPI_INTEGER, recv, n_c, MPI_INTEGER, MPI_COMM_WORLD, MPI_INFO_NULL, engine, request)
    call three_epochs("alltoall_c", transposed)
    call stoker_alltoall_init(MPI_IN_PLACE, 0, MPI_INTEGER, recv, n, MPI_INTEGER, MPI_COMM_WORLD, MPI_INFO_NULL, engine, request)
    call three_epochs("alltoall in place", transposed, in_place=.true.)
    call stoker_alltoallv_init(send, counts, displs, MPI_INTEGER, recv, counts, displs, MPI_INTEGER, MPI_COMM_WORLD, &
      MPI_INFO_NULL, engine, request)
    call three_epochs("alltoallv", reversed)
    call stoker_alltoallv_init(send, counts_c, displs_c, MPI_INTEGER, recv, counts_c, displs_c, MPI_INTEGER, MPI_COMM_WORLD, &
      MPI_INFO_NULL, engine, request)
    call three_epochs("alltoallv_c", reversed)
  end subroutine

  subroutine neighbors
    type(MPI_Comm) :: comm

    if (ranks < 2) return ! send and recv hold two blocks elsewhere
    call MPI_Cart_create(MPI_COMM_WORLD, 1, [ranks], [.true.], .false., comm)
    call stoker_neighbor_alltoall_init(send, n, MPI_INTEGER, recv, n, MPI_INTEGER, comm, MPI_INFO_NULL, engine, request)
    call three_epochs("neighbor_alltoall", ring)
    call stoker_neighbor_alltoallv_init(send, [n_c, n_c], [0_MPI_ADDRESS_KIND, n_c], MPI_INTEGER, recv, [n_c, n_c], &
      [0_MPI_ADDRESS_KIND, n_c], MPI_INTEGER, comm, MPI_INFO_NULL, engine, request)
    call three_epochs("neighbor_alltoallv_c", ring)
    call MPI_Comm_free(comm)
  end subroutine

  subroutine reductions
    call stoker_allreduce_init(send, recv, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, engine, request)
    call three_epochs("allreduce", total)
    call stoker_allreduce_init(MPI_IN_PLACE, recv, n_c, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, engine, request)
    call three_epochs("allreduce_c in place", total, in_place=.true.)
    call stoker_reduce_init(send, recv, n, MPI_INTEGER, MPI_SUM, root, MPI_COMM_WORLD, MPI_INFO_NULL, engine, request)
    call three_epochs("reduce", total_at_root)
    call stoker_reduce_scatter_init(send, recv, counts, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, engine, request)
    call three_epochs("reduce_scatter", own_block_of_total)
    call stoker_reduce_scatter_block_init(send, recv, n_c, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, engine, request)
    call three_epochs("reduce_scatter_block_c", own_block_of_total)
    call stoker_scan_init(send, recv, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, engine, request)
    call three_epochs("scan", prefix)
    call stoker_exscan_init(send, recv, n_c, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, engine, request)
    call three_epochs("exscan_c", prefix_before)
  end subroutine

  subroutine gathers_and_scatters
    call stoker_allgather_init(send, n, MPI_INTEGER, recv, n, MPI_INTEGER, MPI_COMM_WORLD, MPI_INFO_NULL, engine, request)
    call three_epochs("allgather", gathered)
    call stoker_allgatherv_init(send, n_c, MPI_INTEGER, recv, counts_c, displs_c, MPI_INTEGER, MPI_COMM_WORLD, MPI_INFO_NULL, &
      engine, request)
    call three_epochs("allgatherv_c", gathered_in_reverse)
    call stoker_gather_init(send, n_c, MPI_INTEGER, recv, n_c, MPI_INTEGER, root, MPI_COMM_WORLD, MPI_INFO_NULL, engine, request)
    call three_epochs("gather_c", gathered_at_root)
    call stoker_gatherv_init(send, n, MPI_INTEGER, recv, counts, displs, MPI_INTEGER, root, MPI_COMM_WORLD, MPI_INFO_NULL, &
      engine, request)
    call three_epochs("gatherv", gathered_at_root_in_reverse)
    call stoker_scatter_init(send, n, MPI_INTEGER, recv, n, MPI_INTEGER, root, MPI_COMM_WORLD, MPI_INFO_NULL, engine, request)
    call three_epochs("scatter", scattered)
    call stoker_scatterv_init(send, counts_c, displs_c, MPI_INTEGER, recv, n_c, MPI_INTEGER, root, MPI_COMM_WORLD, &
      MPI_INFO_NULL, engine, request)
    call three_epochs("scatterv_c", scattered_in_reverse)
    call stoker_bcast_init(recv, n, MPI_INTEGER, root, MPI_COMM_WORLD, MPI_INFO_NULL, engine, request)
    call three_epochs("bcast", of_root, in_place=.true.)
  end subroutine

  !> Indices begin with 1; statistics and facts.
  subroutine several
    type(stoker_request) :: requests(2)
    type(stoker_statistics) :: statistics
    type(stoker_engine_facts) :: facts
    integer :: epoch, index
    logical :: flag

    call stoker_barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, engine, requests(1))
    call stoker_bcast_init(recv, n, MPI_INTEGER, root, MPI_COMM_WORLD, MPI_INFO_NULL, engine, requests(2))
    do epoch = 1, 3
      call fill(epoch)
      recv = send
      call stoker_start(requests(2))
      call stoker_waitany(2, requests, index)
      call expect("waitany", epoch, [index, recv(:n)], [2, of_root(epoch)])
      call stoker_start(requests(1))
      flag = .false.
      do while (.not. flag)
        call stoker_testany(2, requests, index, flag)
      end do
      call expect("testany", epoch, [index], [1])
      call stoker_waitany(2, requests, index)
      call expect("waitany of none", epoch, [index], [MPI_UNDEFINED])
      call stoker_startall(2, requests)
      flag = .false.
      do while (.not. flag)
        call stoker_testall(2, requests, flag)
      end do
      call stoker_waitall(2, requests)
    end do
    call stoker_request_statistics(requests(2), statistics)
    call expect("starts, length of the algorithm's name", 3, &
      [int(statistics%starts), merge(1, 0, len(stoker_text(statistics%algorithm)) > 0)], [6, 1])
    call stoker_engine_get_facts(engine, facts)
    call expect("ranks", 0, [facts%ranks], [ranks])
    call stoker_trace_begin(engine, "region")
    call stoker_trace_end(engine)
    call stoker_request_free(requests(1))
    call stoker_request_free(requests(2))
    call expect("freed handles", 3, int(requests%handle), [0, 0])
  end subroutine

  subroutine blocking
    integer :: epoch

    do epoch = 1, 3
      call fill(epoch)
      call stoker_allreduce(send, recv, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, engine)
      call expect("blocking allreduce", epoch, recv(:n), total(epoch))
      recv = send
      call stoker_allreduce(MPI_IN_PLACE, recv, n_c, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, engine)
      call expect("blocking allreduce_c in place", epoch, recv(:n), total(epoch))
      call fill(epoch)
      call stoker_allgather(send, n, MPI_INTEGER, recv, n, MPI_INTEGER, MPI_COMM_WORLD, engine)
      call expect("blocking allgather", epoch, recv, gathered(epoch))
      call fill(epoch)
      call stoker_scatterv(send, counts, displs, MPI_INTEGER, recv, n, MPI_INTEGER, root, MPI_COMM_WORLD, engine)
      call expect("blocking scatterv", epoch, recv(:n), scattered_in_reverse(epoch))
      call stoker_barrier(MPI_COMM_WORLD, engine)
    end do
  end subroutine

end program
