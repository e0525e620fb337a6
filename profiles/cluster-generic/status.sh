#!/bin/sh
# Says how a job is doing, in one word: status.sh ID -> running, success or failed
set -eu

# The scheduler's own command, and the words that it uses. A controller that does not answer is asked again.
state=$(scontrol --oneliner show job "$1" 2>/dev/null | sed -n 's/.*JobState=\([A-Z_]*\).*/\1/p')
[ -n "$state" ] || state=$(sacct --parsable2 --noheader --allocations --format State --jobs "$1" 2>/dev/null | cut -d ' ' -f 1)
case $state in
COMPLETED) echo success ;;
BOOT_FAIL | CANCELLED | DEADLINE | FAILED | NODE_FAIL | OUT_OF_MEMORY | TIMEOUT) echo failed ;;
*) echo running ;;
esac
