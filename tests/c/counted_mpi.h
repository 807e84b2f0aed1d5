/* Counts requests and communicators of MPI that are not freed, by its profiling interface. Include this in the file of `main`. */
#include <mpi.h>
#include <stdint.h>

/* What the library of communication has of MPI: its calls come here first. */
static int64_t n_requests, n_communicators;

int MPI_Send_init(const void *data, int count, MPI_Datatype type, int peer, int tag, MPI_Comm communicator,
                  MPI_Request *request)
{
    n_requests++;
    return PMPI_Send_init(data, count, type, peer, tag, communicator, request);
}

int MPI_Recv_init(void *data, int count, MPI_Datatype type, int peer, int tag, MPI_Comm communicator, MPI_Request *request)
{
    n_requests++;
    return PMPI_Recv_init(data, count, type, peer, tag, communicator, request);
}

int MPI_Request_free(MPI_Request *request)
{
    n_requests--;
    return PMPI_Request_free(request);
}

int MPI_Comm_dup(MPI_Comm communicator, MPI_Comm *copy)
{
    n_communicators++;
    return PMPI_Comm_dup(communicator, copy);
}

int MPI_Comm_free(MPI_Comm *communicator)
{
    n_communicators--;
    return PMPI_Comm_free(communicator);
}
