int wire_send(int n);

int
main(void)
{
	return wire_send(3) < 0;
}
