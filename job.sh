#!/usr/bin/env bash
#SBATCH --exclusive
#SBATCH --ntasks-per-node=3
#SBATCH --gpus-per-node=3
# keeneland-modelled: g0 and mlx4_0 hang on n0 (package 0); g1 and g2 hang on n1 (package 1).
# 6 cores of n0 serve 1 rank, 6 cores of n1 serve 2 ranks: every rank gets 3, so that all have as many.
# Cores without a rank: 3 on n0.
# No NIC is on the NUMA node of g1 (mlx4_0) and g2 (mlx4_0).
# From the wrong side, off_socket (n1 in place of n0 for g0): H2D 4.90 GB/s in place of 5.70 (-14 %), D2H 4.34 GB/s in
# place of 6.30 (-31 %).
# Published evidence is against this: HPL, three ranks a node with a GPU and four threads each (spafford2011, figure 5):
# 0-1-1 was the worst beside 0-1-free and 0-0-1; 21 % between the best and the worst on 64 nodes. The source's reasons
# are two ranks far from the NIC, and cores of n0 that stay idle.
#
# Slurm: sbatch --nodes=N THIS_FILE [PROGRAM…]. The masks hold while the step has all CPUs of the node: hence
# --exclusive above, and neither --exact nor --cpus-per-task for srun. They need TaskPlugin=task/affinity.
set -u
program=(./app)
if (($#)); then program=("$@"); fi
if ((${#program[@]} == 0)); then
    echo 'nearfar bind: no program; give it as the arguments' >&2
    exit 2
fi
read -r -d '' per_rank <<'END_OF_RANK'
# By local rank; CPUs and memories as Linux lists.
cpus=('0,2,4' '1,3,5' '7,9,11')
memories=('0' '1' '1')
places=('{0},{2},{4}' '{1},{3},{5}' '{7},{9},{11}')
threads=(3 3 3)
gpus=(0 1 2)
nics=('mlx4_0' 'mlx4_0' 'mlx4_0')

refuse() {
    printf 'nearfar bind: %s: %s\n' "$HOSTNAME" "$*" >&2
    exit 2
}

read_back() { # the CPUs and the memory policy in effect: "0,2,4 bind:0"
    local key value policy=unreadable
    { read -r _ policy _; } 2>/dev/null </proc/self/numa_maps
    while read -r key value; do
        if [[ $key == Cpus_allowed_list: ]]; then printf '%s %s' "$value" "${policy/=*:/:}"; fi
    done </proc/self/status
}

# mpirun inside a Slurm job: all ranks of a node inherit the same SLURM_LOCALID, so that comes last.
rank=${OMPI_COMM_WORLD_LOCAL_RANK-${MV2_COMM_WORLD_LOCAL_RANK-${MPI_LOCALRANKID-${PALS_LOCAL_RANKID-${FLUX_TASK_LOCAL_ID-${SLURM_LOCALID-}}}}}}
# PMI_RANK counts over all nodes: while no more ranks than places are started, no two get the same place.
if [[ -z $rank && ${PMI_SIZE-} =~ ^[0-9]+$ ]] && ((PMI_SIZE <= ${#cpus[@]})); then rank=${PMI_RANK-}; fi
[[ $rank =~ ^[0-9]+$ ]] || refuse 'the local rank is not known; start the ranks with srun, mpirun or mpiexec'
rank=$((10#$rank))
((rank < ${#cpus[@]})) ||
    refuse "local rank $rank is beyond the layout, which has ${#cpus[@]} on a node; start fewer ranks, or make the script again"
(($#)) || refuse 'no program; give it as the arguments'

# Slurm has bound the GPU. Where it hides the others, the one that is left is number 0 whatever it was.
[[ ${CUDA_VISIBLE_DEVICES-} =~ ^(${gpus[rank]}|0|(GPU|MIG)-[^,]+)$ ]] ||
    refuse "Slurm gives local rank $rank the GPUs '${CUDA_VISIBLE_DEVICES-none}', not ${gpus[rank]} alone: --gpu-bind is not in effect"

nic=${nics[rank]}
if [[ -n $nic && -z ${UCX_NET_DEVICES+set} ]]; then
    port=''
    for state in "/sys/class/infiniband/$nic/ports/"*/state; do
        if [[ -r $state && -z $port && $(<"$state") == *ACTIVE* ]]; then port=${state%/state} port=${port##*/}; fi
    done
    if [[ -n $port ]]; then
        export UCX_NET_DEVICES=$nic:$port
    elif [[ -d /sys/class/net/$nic ]]; then
        export UCX_NET_DEVICES=$nic
    else
        refuse "NIC $nic of local rank $rank is absent, or has no active port"
    fi
fi
export OMP_NUM_THREADS=${threads[rank]} OMP_PLACES=${places[rank]} OMP_PROC_BIND=close

seen=$(read_back)
[[ ${seen% *} == "${cpus[rank]}" ]] ||
    refuse "local rank $rank may run on CPUs ${seen% *}, not on ${cpus[rank]} alone: --cpu-bind is not in effect"
[[ ${seen#* } == "bind:${memories[rank]}" ]] ||
    refuse "memory of local rank $rank follows the policy '${seen#* }', not bind:${memories[rank]}: --mem-bind is not in effect"
exec "$@"
END_OF_RANK
exec srun --ntasks-per-node=3 \
    --cpu-bind=mask_cpu:0x15,0x2a,0xa80 \
    --mem-bind=map_mem:0,1,1 \
    --gpus-per-task=1 --gpu-bind=map_gpu:0,1,2 \
    bash -c "$per_rank" nearfar-bind "${program[@]}"
