/* Preloaded into the ranks of a test: FAILING_RANK ("1", or "all") does FAILING_HOW from its FAILING_AT-th MPI_Bcast on. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int broadcasts = 0;
static int mpi_started = 0;
static char copy[1 << 20];

static int is_meant(const char *how) {
    const char *wanted = getenv("FAILING_HOW"), *rank = getenv("FAILING_RANK"), *at = getenv("FAILING_AT");
    const char *mine = getenv("OMPI_COMM_WORLD_RANK");
    if (mine == NULL) mine = getenv("PMI_RANK");
    if (wanted == NULL || rank == NULL || mine == NULL || strcmp(wanted, how) != 0) return 0;
    return (strcmp(rank, "all") == 0 || strcmp(rank, mine) == 0) && broadcasts >= (at == NULL ? 0 : atoi(at));
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided) {
    mpi_started = 1;
    return PMPI_Init_thread(argc, argv, required, provided);
}

int setenv(const char *name, const char *value, int overwrite) {
    int (*real)(const char *, const char *, int) = (int (*)(const char *, const char *, int))dlsym(RTLD_NEXT, "setenv");
    if (mpi_started && strncmp(name, "CUDA_", 5) == 0) fprintf(stderr, "late: %s\n", name);
    return real(name, value, overwrite);
}

int MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
    ++broadcasts;
    if (is_meant("hang"))
        for (;;) pause();
    if (is_meant("abort")) abort();
    if (is_meant("kill")) raise(SIGKILL);
    if (is_meant("launcher")) kill(getppid(), SIGKILL);
    return PMPI_Bcast(buffer, count, type, root, comm);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *argument) {
    int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) =
        (int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))dlsym(RTLD_NEXT, "pthread_create");
    return is_meant("thread") ? EAGAIN : real(thread, attributes, body, argument);
}

/* "stuck": in an exchange of messages, or where all ranks meet. */
int MPI_Barrier(MPI_Comm comm) {
    if (is_meant("stuck"))
        for (;;) pause();
    return PMPI_Barrier(comm);
}

/* "period": the message is shifted by 256 bytes; "slow": it takes longer than a short window. */
int MPI_Send(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
    if (tag == 1 && count == sizeof copy && is_meant("period")) {
        memcpy(copy, data, sizeof copy);
        memmove(copy + 512, copy + 768, sizeof copy - 768);
        data = copy;
    }
    if (tag == 1 && is_meant("slow")) usleep(120000);
    if (tag == 1 && is_meant("stuck"))
        for (;;) pause();
    return PMPI_Send(data, count, type, to, tag, comm);
}

/* "twice": each second message of a stream is the one before it again. */
int MPI_Isend(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request) {
    static const void *before = NULL;
    static int number = 0;
    if (tag == 1 && is_meant("twice") && number++ % 2 == 1) data = before;
    before = data;
    return PMPI_Isend(data, count, type, to, tag, comm, request);
}
