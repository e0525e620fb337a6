#!/bin/sh
# Says how a job is doing, in one word: status.sh ID -> running, success or failed
set -eu

# The scheduler's own command, and the words that it uses. A controller that does not answer is asked again; one
# that has forgotten the job, where no database remembers it, means that it is gone.
said=$(scontrol --oneliner show job "$1" 2>&1) || :
state=$(echo "$said" | sed -n 's/.*JobState=\([A-Z_]*\).*/\1/p')
[ -n "$state" ] || state=$(sacct --parsable2 --noheader --allocations --format State --jobs "$1" 2>/dev/null | cut -d ' ' -f 1)
case ${state:-$said} in
COMPLETED) echo success ;;
BOOT_FAIL | CANCELLED | DEADLINE | FAILED | NODE_FAIL | OUT_OF_MEMORY | PREEMPTED | REVOKED | TIMEOUT) echo failed ;;
*"Invalid job id"*) echo failed ;;
*) echo running ;;
esac
