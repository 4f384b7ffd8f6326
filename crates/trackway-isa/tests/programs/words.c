// Counts words and sorts them: pulls in stdio, malloc, qsort, floating-point printing.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int by_text(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

int main(int argc, char **argv) {
    char **words = malloc(sizeof *words * (size_t)argc);
    double sum = 0;
    for (int i = 0; i < argc; i++) {
        words[i] = strdup(argv[i]);
        sum += sin((double)strlen(words[i])) * pow(1.5, i) + fmod(i, 0.7L);
    }
    qsort(words, (size_t)argc, sizeof *words, by_text);
    for (int i = 0; i < argc; i++) printf("%d %s %.17g %Lg\n", i, words[i], sum, (long double)sum);
    time_t now = time(NULL);
    fputs(asctime(gmtime(&now)), stderr);
    return __atomic_fetch_add((int *)words, 1, __ATOMIC_SEQ_CST) == 0;
}
