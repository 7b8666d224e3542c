// Stands in for osu_latency in tests of real launchers: a few ping-pongs, and a table whose figures mean nothing.
// FAKE_OSU=die: rank 1 kills itself. FAKE_OSU=move: rank 1 leaves the CPUs that it was bound to.
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char** argv) {
    int rank = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc > 1 && strcmp(argv[1], "-h") == 0) {
        if (rank == 0) printf("  -m, --message-size  [MIN:]MAX\n");
        MPI_Finalize();
        return 0;
    }
    const char* bend = getenv("FAKE_OSU");
    if (bend && strcmp(bend, "move") == 0 && rank == 1) {
        cpu_set_t everywhere;
        memset(&everywhere, 0xff, sizeof everywhere);
        sched_setaffinity(0, sizeof everywhere, &everywhere);
    }
    if (rank == 0) printf("# OSU MPI Latency Test v7.4\n# Datatype: MPI_CHAR.\n# Size       Avg Latency(us)\n");
    static char buffer[1 << 22];
    for (int size = 1; size <= 1 << 22; size *= 2) {
        if (bend && strcmp(bend, "die") == 0 && rank == 1 && size == 1024) raise(SIGKILL);
        double start = MPI_Wtime();
        if (rank == 0) {
            MPI_Send(buffer, size, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
            MPI_Recv(buffer, size, MPI_CHAR, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            printf("%-10d%18.2f\n", size, (MPI_Wtime() - start) * 5e5 + 0.01);
        } else {
            MPI_Recv(buffer, size, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(buffer, size, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
        }
    }
    fflush(stdout);
    usleep(900000);  // long enough for the wrapper's watcher to look
    MPI_Finalize();
    return 0;
}
