#!/bin/sh
# Submits a job and prints its id: submit.sh NAME CORES MEGABYTES MINUTES GPUS SCRIPT
set -eu
name=$1 cores=$2 memory=$3 minutes=$4 gpus=$5 script=$6
logs=.snakemake/cluster_logs
mkdir -p "$logs"
gpu=cpu
[ "$gpus" -eq 0 ] || gpu="gpu --gpus=$gpus"

# The scheduler's own command; $gpu, unquoted, is a partition and what else a job with a GPU needs.
# PBS: qsub -N "$name" -l "select=1:ncpus=$cores:mem=${memory}mb:ngpus=$gpus,walltime=$((60 * minutes))" "$script"
# LSF: bsub -J "$name" -n "$cores" -M "${memory}MB" -W "$minutes" < "$script", and cut the id out of what it says
# shellcheck disable=SC2086
sbatch --parsable --job-name "$name" --comment "rule_$name" --ntasks 1 --cpus-per-task "$cores" --mem "$memory" --time "$minutes" \
  --partition $gpu --output "$logs/%j.log" "$script" | cut -d ';' -f 1
