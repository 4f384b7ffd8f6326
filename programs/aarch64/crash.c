/* Runs a list of jobs, one of which has no function: it crashes. Built with debug information, without a C library. */
struct job {
    int (*run)(const struct job *);
    int value;
    struct job *next;
};

static struct job jobs[4000];
static volatile long total;

__attribute__((noinline)) static int square(const struct job *job)
{
    return job->value * job->value;
}

__attribute__((noinline)) static struct job *add(struct job *list, int value)
{
    struct job *job = &jobs[value];
    job->run = value == 100 ? 0 : square; /* the mistake */
    job->value = value;
    job->next = list;
    return job;
}

__attribute__((noinline)) static long run_all(const struct job *list)
{
    long sum = 0;
    for (const struct job *job = list; job; job = job->next)
        sum += job->run(job);
    return sum;
}

void _start(void)
{
    struct job *list = 0;
    for (int i = 3999; i >= 0; i--)
        list = add(list, i);
    total = run_all(list);
    register long number __asm__("x8") = 93;
    register long code __asm__("x0") = 0;
    __asm__ volatile("svc #0" : : "r"(number), "r"(code));
    __builtin_unreachable();
}
