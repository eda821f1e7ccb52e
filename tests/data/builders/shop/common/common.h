#define COMMON 1
