int piece(void);

int
piece(void)
{
	return 1;
}
