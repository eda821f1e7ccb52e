! Work for the table of kinds: loops over arrays, the library's own functions.
module parts
contains
	subroutine heavy(a)
		real(8), intent(inout) :: a(:)
		integer :: i, j
		do j = 1, 100
			do i = 2, size(a)
				a(i) = mod(a(i) * 1.7d0 + a(i - 1), 3.0d0)
			end do
		end do
	end subroutine
	subroutine product_of(a, b)
		real(8), intent(in) :: a(:, :)
		real(8), intent(out) :: b(:, :)
		b = mod(matmul(a, a), 2.0d0)
	end subroutine
end module

program work
	use parts
	real(8) :: a(5000), m(90, 90), n(90, 90)
	call random_number(a)
	call random_number(m)
	do
		call heavy(a)
		call product_of(m, n)
		m = n
		if (a(7) > 1d9) print *, a(7)
	end do
end program
