int store_sum(int n);
int table_of(int n);
