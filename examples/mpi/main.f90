! Calls a distributed program on all ranks with the parts of the ranks, and compares with what a loop on one rank gives.
program main
  use, intrinsic :: iso_c_binding
  use mpi
  use jacobi2d_sdfg
  implicit none
  integer(c_int64_t), parameter :: n = 37, steps = 5
  ! C's A[i, j] is A(j, i) here.
  real(c_double) :: a(n, n), b(n, n)
  real(c_double), allocatable :: own_a(:, :), own_b(:, :)
  integer(c_int64_t) :: low(2), extent(2), own(2), length(2)
  integer(c_int64_t), target :: communicator
  type(jacobi2d_config), target :: config
  type(c_ptr) :: handle
  integer :: error, d, i, j, t, wrong, everywhere

  call MPI_Init(error)
  communicator = MPI_COMM_WORLD
  config%size = c_sizeof(config)
  config%communicator_kind = 2
  config%communicator = c_loc(communicator)
  if (jacobi2d_create(c_loc(config), handle) /= jacobi2d_success) error stop 'the program cannot run on these ranks'

  do j = 1, int(n)
    do i = 1, int(n)
      a(j, i) = mod(7 * i + 3 * j, 11)
    end do
  end do
  b = a

  ! Dimensions and positions count as in C.
  do d = 0, 1
    low(d + 1) = jacobi2d_local_offset(handle, 'A' // c_null_char, d, n, steps)
    extent(d + 1) = jacobi2d_local_extent(handle, 'A' // c_null_char, d, n, steps)
    own(d + 1) = jacobi2d_own_offset(handle, 'A' // c_null_char, d, n, steps) - low(d + 1)
    length(d + 1) = jacobi2d_own_extent(handle, 'A' // c_null_char, d, n, steps)
  end do
  allocate (own_a(extent(2), extent(1)), own_b(extent(2), extent(1)))
  own_a = a(low(2) + 1:low(2) + extent(2), low(1) + 1:low(1) + extent(1))
  own_b = own_a
  if (jacobi2d_run(handle, own_a, own_b, n, steps) /= jacobi2d_success) error stop 'the run failed'

  do t = 1, int(steps)
    b(2:n-1, 2:n-1) = 0.2d0 * (a(2:n-1, 2:n-1) + a(1:n-2, 2:n-1) + a(3:n, 2:n-1) + a(2:n-1, 3:n) + a(2:n-1, 1:n-2))
    a(2:n-1, 2:n-1) = 0.2d0 * (b(2:n-1, 2:n-1) + b(1:n-2, 2:n-1) + b(3:n, 2:n-1) + b(2:n-1, 3:n) + b(2:n-1, 1:n-2))
  end do
  wrong = 0
  do i = int(own(1)) + 1, int(own(1) + length(1))
    do j = int(own(2)) + 1, int(own(2) + length(2))
      if (abs(own_a(j, i) - a(low(2) + j, low(1) + i)) > 1d-12) wrong = wrong + 1
    end do
  end do
  call MPI_Allreduce(wrong, everywhere, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
  if (jacobi2d_rank(handle) == 0) then
    if (everywhere == 0) print '(a, i0, a)', 'jacobi2d on ', jacobi2d_ranks(handle), ' ranks: ok'
    if (everywhere /= 0) print '(a)', 'jacobi2d: wrong'
  end if
  call jacobi2d_destroy(handle)
  call MPI_Finalize(error)
  if (everywhere /= 0) error stop 1
end program
