/* The same functions, compiled once for A32 and once for T32. */
#define JOIN(a, b) a##b
#define NAME2(set, name) JOIN(set, name)
#define NAME(name) NAME2(SET, name)

struct node {
    struct node *next;
    int (*visit)(int, int);
    int value;
};
