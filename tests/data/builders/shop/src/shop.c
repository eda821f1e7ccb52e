int piece(void);
int wire_send(int n);

int
main(void)
{
	return wire_send(1) + piece() < 0;
}
