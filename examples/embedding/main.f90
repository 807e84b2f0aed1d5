! Runs the compiled program `laplace` and compares it with the same loops in Fortran.
program main
  use, intrinsic :: iso_c_binding
  use laplace_sdfg
  implicit none
  integer, parameter :: n = 1000, steps = 5
  ! The program declares A[2, N]: the rows of C are columns here.
  real(c_double) :: a(n, 2), expected(n, 2)
  integer :: t, i, old, new

  a = 0
  a(n / 2, :) = 1
  expected = a
  if (laplace(a, int(n, c_int64_t), int(steps, c_int64_t)) /= laplace_success) error stop 'laplace: failed'

  do t = 0, steps - 1
    old = mod(t, 2) + 1
    new = mod(t + 1, 2) + 1
    do i = 2, n - 1
      expected(i, new) = expected(i - 1, old) - 2 * expected(i, old) + expected(i + 1, old)
    end do
  end do
  ! Small whole numbers: no rounding, so that every bit is the same.
  if (any(a /= expected)) error stop 'laplace: wrong'
  print '(a)', 'laplace: ok'
end program
