#!/bin/sh
# The mover: what runs in the pod of a backup or a restore. It needs restic 0.17.1 or newer (its exit codes 10, 11 and 12), a POSIX
# shell, and no program that a busybox does not have.
#
#   mover.sh preflight [unlock-all] [backup] [forget] [prune] [check]
#   mover.sh preflight restore
#   mover.sh preflight delete
#
# Environment, set by the Job:
#   RESTIC_REPOSITORY, RESTIC_PASSWORD, RESTIC_CACHE_DIR, RESTIC_CACERT and others: restic's own
#   BACKUP_HOST        the namespace; volumes are hosts `<namespace>/<claim>` to restic
#   BACKUP_TAG         `<namespace>/<name>` of the Backup: what is ours in a repository. Never anything of a run, since snapshots
#                      are grouped by it
#   DATA_DIR           has a folder for each volume (/data)
#   TMPDIR             a folder to write into (/tmp)
#   RESULT             the file for the result (/dev/termination-log)
#   PREFLIGHT_TIMEOUT  how many seconds the repository may take to answer (60); restic alone would try for 15 minutes
#   RETRY_LOCK         how long restic waits for a lock (5m)
#   INIT=1             the repository may be made. Only before the first success: who makes one later hides that the first is gone.
#                      Two that do so at once destroy it, so the controller lets nothing else run meanwhile
#   ALLOW_PARTIAL=1    files that cannot be read are no failure
#   FORGET_ARGS        what to keep, as restic's `--keep-…`, separated by spaces; empty: everything
#   EXCLUDES           patterns of restic, one a line; one that begins with / begins at the volume's root
#   RESTORE_VOLUME     the claim whose snapshot is restored
#   RESTORE_TARGET     the folder to restore into
#   SNAPSHOT           `latest`, or an id of at least 8 digits; it must be one of this Backup's, of this volume
#   AS_OF              a time by RFC 3339: for `latest`, the newest that is not later
#   RESTORE_PATHS      what to restore, one path a line, from the volume's root; empty: everything
#   RESTORE_ID         the same in all tries of one restore: a try goes on where one before it has ended
#   OVERWRITE=1        the target may have files. Those that the snapshot has too become the snapshot's, whichever are newer; all
#                      others stay as they are
#
# Exit codes: 0 done; 3 saved, but for files that could not be read; 40 no repository; 41 locked; 42 wrong password; 43 unreachable;
# 44 anything else; 45 the target is not empty; 46 nothing of that name to restore; 47 saved, but old snapshots could not be deleted;
# 143 ended by a signal. The result is one line of JSON (controllers/backup/Result.ts), in RESULT and as last line of the output.
set -u
# Lengths are bytes, and no program takes a file's name for wrong.
LC_ALL=C
export LC_ALL
unset CDPATH

RESULT=${RESULT:-/dev/termination-log}
DATA_DIR=${DATA_DIR:-/data}
RETRY_LOCK=${RETRY_LOCK:-5m}
PREFLIGHT_TIMEOUT=${PREFLIGHT_TIMEOUT:-60}

# --- Running restic ---

work=${TMPDIR:-/tmp}/mover.$$
out=$work/out
err=$work/err
child=
stopped=

# restic drops its lock on SIGTERM. A signal while no restic runs is seen before the next one.
trap 'stopped=1; [ -z "$child" ] || kill -s TERM "$child" 2>/dev/null' TERM INT HUP
trap 'rm -rf "$work"' EXIT

# Runs a program with its output in $out and $err, and shows the latter. $code is its exit code.
run() {
  [ -z "$stopped" ] || finish Terminated 143 "ended by a signal"
  : >"$out"
  "$@" >"$out" 2>"$err" </dev/null &
  child=$!
  # The signal may have come between those two lines.
  [ -z "$stopped" ] || kill -s TERM "$child" 2>/dev/null
  while :; do
    wait "$child"
    code=$?
    # A signal ends `wait`, not the program. Once waited for, it is gone.
    kill -s 0 "$child" 2>/dev/null || break
  done
  child=
  redact <"$err" >&2
  if [ -n "$stopped" ] && [ "$code" != 0 ]; then finish Terminated 143 "ended by a signal while restic was at work"; fi
  return "$code"
}

# The same, with a time limit: $code is then 124. A restic that is sent SIGTERM ends with 130, which busybox hands on, in some versions
# as 143, and which coreutils make 124.
run_briefly() {
  run timeout -k 10 "$PREFLIGHT_TIMEOUT" restic "$@"
  case $code in 124 | 130 | 137 | 143) code=124 ;; esac
  return "$code"
}

# --- What restic said ---

# No secret leaves: neither the user's part of a URL, nor the value of a variable that has one. restic shows none of its own accord,
# but a server's words are shown as they are.
redact() {
  sed 's#://[^/@[:space:]"]*@#://***@#g' | awk '
    BEGIN {
      for (name in ENVIRON) {
        if (name !~ /PASSWORD|SECRET|TOKEN|KEY|SAS/) continue
        lines = split(ENVIRON[name], values, "\n")
        # Shorter ones are words of their own.
        for (i = 1; i <= lines; i++) if (length(values[i]) >= 4) secrets[++count] = values[i]
      }
    }
    {
      for (i = 1; i <= count; i++) {
        done = ""
        while (at = index($0, secrets[i])) {
          done = done substr($0, 1, at - 1) "***"
          $0 = substr($0, at + length(secrets[i]))
        }
        $0 = done $0
      }
      print
    }'
}

# The text of JSON strings, each on one line.
unescape() { sed -e 's/\\[nrt]/ /g' -e 's/\\u00[01][0-9a-f]/ /g' -e 's/\\u003c/</g' -e 's/\\u003e/>/g' -e 's/\\u0026/\&/g' -e 's/\\\(["\\]\)/\1/g'; }

# Why restic failed, in one line: its last word, or what it tried again for until it was cut off, since then its last word is only
# "context canceled".
cause() {
  last=$(sed -n -e 's/^{"message_type":"exit_error".*"message":"\(.*\)"}$/\1/p' -e 's/^\(Fatal: .*\)$/\1/p' "$err" |
    tail -n 1 | sed 's/\\n.*//' | unescape)
  tried=$(sed -n -e 's/^.* returned error, retrying after [^:]*: //p' -e 's/^[A-Z][a-z]*(<.*) failed: //p' "$err" |
    tail -n 1 | sed 's/^[A-Z][a-z]*: //')
  case $last in
    '' | *'context canceled'*) last=${tried:-$last} ;;
    *) case $last in *"$tried"*) ;; *) last="$last; $tried" ;; esac ;;
  esac
  [ -n "$last" ] || last=$(grep -v '^[[:space:]]*$' "$err" | tail -n 1)
  printf '%s' "${last:-restic ended with code $code, without a word}"
}

# The files that could not be read: how many, and the last.
unread() {
  lines=$(grep -c '^{"message_type":"error"' "$err")
  printf '%s could not be read, the last: ' "$lines"
  sed -n 's/^{"message_type":"error","error":{"message":"\(.*\)"},"during".*/\1/p' "$err" | tail -n 1 | unescape
}

# Whether restic failed for want of room: it has no code for it.
is_full() {
  grep -Eiq 'no space left on device|quota ?exceeded|insufficient storage|request entity too large|\((413|507)\)' "$err"
}

# A text for a person on one line, at most 900 bytes of valid UTF-8, and such as may stand between the quotes of JSON.
clean() {
  redact | head -c 4000 | od -An -v -tu1 | awk -v most=900 '
    { for (i = 1; i <= NF; i++) byte[total++] = $i + 0 }
    END {
      at = 0
      while (at < total) {
        first = byte[at]
        size = first < 128 ? 1 : first < 194 ? 0 : first < 224 ? 2 : first < 240 ? 3 : first < 245 ? 4 : 0
        if (at + size > total) size = 0
        for (i = 1; i < size; i++) if (byte[at + i] < 128 || byte[at + i] > 191) size = 0
        # Longer than needed, halves of pairs, and beyond the last character.
        second = size > 1 ? byte[at + 1] : 0
        if ((first == 224 && second < 160) || (first == 237 && second > 159)) size = 0
        if ((first == 240 && second < 144) || (first == 244 && second > 143)) size = 0
        if (size == 0) { byte[at] = 63; size = 1 }
        if (size == 1 && (byte[at] < 32 || byte[at] == 127)) byte[at] = 32
        if (size == 1 && byte[at] == 34) byte[at] = 39
        if (size == 1 && byte[at] == 92) byte[at] = 47
        if (first == 194 && size == 2 && second < 160) { at++; byte[at] = 32; size = 1 }
        if (length_so_far + size > most) exit
        if (byte[at] != 32 || previous != 32) {
          for (i = 0; i < size; i++) printf "%c", byte[at + i]
          length_so_far += size
        }
        previous = byte[at]
        at += size
      }
    }'
}

# --- The result ---

operation=
repository=
volumes=
kept=
removed=
pruned=false
checked=false
unlocked=
restored=

# Ends: finish <reason> <exit code> <message>. The list of volumes comes last and is cut first: Kubernetes cuts at 4096 bytes.
finish() {
  trap '' TERM INT HUP
  message=$(printf '%s' "$3" | clean)
  head=$(printf '{"reason":"%s","message":"%s"' "$1" "${message% }")
  case $2 in 0) ;; *) [ -z "$operation" ] || head="$head,\"operation\":\"$operation\"" ;; esac
  [ -z "$repository" ] || head="$head,\"repository\":\"$repository\""
  [ -z "$kept" ] || head="$head,\"kept\":$kept"
  [ -z "$removed" ] || head="$head,\"removed\":$removed"
  head="$head,\"pruned\":$pruned,\"checked\":$checked"
  [ -z "$unlocked" ] || head="$head,\"unlocked\":true"
  [ -z "$restored" ] || head="$head,\"restored\":$restored"
  list=
  cut=
  # Not by the length of the text, which some shells count in characters.
  length=$(printf '%s' "$head" | wc -c)
  for volume in $volumes; do
    if [ $((length + ${#list} + ${#volume})) -gt 3760 ]; then
      cut=',"cut":true'
      break
    fi
    list=${list:+$list,}$volume
  done
  head="$head$cut,\"snapshots\":[$list]}"
  # The output is what is left where the file cannot be written.
  printf '%s\n' "$head" >"$RESULT" || echo "the result cannot be written to $RESULT" >&2
  printf '%s\n' "$head"
  exit "$2"
}

# Ends after a failure of restic, by its exit code: fail <message>.
fail() {
  set -- "${partial:+$partial; }$1"
  case $code in
    10) finish RepositoryMissing 40 "$1" ;;
    11) finish RepositoryLocked 41 "$1" ;;
    12) finish WrongPassword 42 "$1" ;;
    124) finish DestinationUnreachable 43 "$1" ;;
  esac
  if is_full; then finish DestinationFull 44 "$1"; fi
  finish ResticFailed 44 "$1"
}

# --- Operations ---

# Whoever has locked the repository: the controller has seen to it that nobody works on it.
unlock_all() {
  run_briefly unlock --remove-all || fail "$(cause)"
  unlocked=1
}

preflight() {
  # Asked first, since a bucket that is missing too is only made by this, and does no harm to a repository that is there.
  code=10
  why=
  if [ "${INIT:-}" = 1 ]; then
    # What restic makes is for its user alone, and the folders on the way to it are for the next Backups.
    if is_folder; then (umask 007 && mkdir -p "${RESTIC_REPOSITORY%/*}/") 2>/dev/null || :; fi
    if run_briefly init --json; then echo "mover: a new repository was made"; fi
    why=$(cause)
    [ "$code" != 124 ] || fail "$why"
  fi
  # Without a lock, as one that was left behind would otherwise keep us from removing it.
  if [ "$code" != 0 ] && ! run_briefly cat config --no-lock; then
    # It was to be made, and could not be. Whoever has no right to a folder has reached it.
    if is_folder && printf '%s' "$why" | grep -qi 'permission denied'; then denied "$why"; fi
    if is_folder && grep -qi 'permission denied' "$err"; then denied "$(cause)"; fi
    if [ "$code" = 10 ] && [ "${INIT:-}" = 1 ]; then
      case ${RESTIC_REPOSITORY:-}$why in
        rest:*404*) why="$why; rest-server has repositories at most two folders deep, so shorten the path" ;;
      esac
      finish DestinationUnreachable 43 "$why"
    fi
    # restic has no code for what was refused: a user who is not known, a folder that may not be read. What is damaged was reached.
    if [ "$code" = 1 ] && ! grep -Eiq 'damaged|ciphertext|invalid data|unsupported repository version' "$err"; then
      finish DestinationUnreachable 43 "$(cause)"
    fi
    fail "$(cause)"
  fi
  repository=$(sed -n 's/^.*"id": *"\([0-9a-f]*\)".*$/\1/p' "$out" | head -n 1)
  share
  # Only those that are stale by restic's rules: their process is gone, or they are older than half an hour. Where it fails, what
  # follows will say why.
  run_briefly unlock || :
}

# Whether the repository is a folder here, and not a server's.
is_folder() { case ${RESTIC_REPOSITORY:-} in /*) ;; *) return 1 ;; esac; }

# Whatever user comes after us, another workload's or one that restores, is of our group (the volume's fsGroup). restic gives all that
# it writes later the group's rights that the repository has. What is not ours is of somebody who has done so before.
share() {
  if [ "${INIT:-}" = 1 ] && is_folder; then chmod -R g+rwX "$RESTIC_REPOSITORY" 2>/dev/null || :; fi
}

denied() {
  finish ResticFailed 44 \
    "user $(id -u), of groups $(id -G), has no right to the repository's files: let spec.podSecurityContext run it as their user, or with their group as fsGroup; $1"
}

# One volume: save <folder>.
save() {
  pvc=$(basename "$1")
  # By its folder and a dot, so that a restore lands at the volume's root.
  cd "$1" 2>/dev/null || finish ResticFailed 44 "volume $pvc cannot be entered by user $(id -u)"
  here=$(pwd)
  # Not in a pipe, which would make a volume that cannot be read an empty one.
  ls -A . >"$work/entries" || finish ResticFailed 44 "volume $pvc cannot be read by user $(id -u)"
  if ! has_files; then
    empty "$pvc"
    return
  fi
  printf '%s\n' "$here/lost+found" >"$work/excludes"
  printf '%s\n' "${EXCLUDES:-}" | while IFS= read -r pattern; do
    # restic takes # for a comment, ! for "but not", $ for a variable.
    case $pattern in
      '') ;;
      /*) printf '%s%s\n' "$here" "$pattern" ;;
      '!/'*) printf '!%s%s\n' "$here" "${pattern#!}" ;;
      '#'*) printf '[#]%s\n' "${pattern#?}" ;;
      *) printf '%s\n' "$pattern" ;;
    esac
  done | sed 's/\$/$$/g' >>"$work/excludes"
  # By tags instead of paths, the snapshot before it is found wherever the volume was mounted then.
  run restic backup --quiet --json --no-scan --retry-lock "$RETRY_LOCK" --host "$BACKUP_HOST/$pvc" --tag "$BACKUP_TAG" \
    --group-by host,tags --exclude-file "$work/excludes" .
  cd /
  case $code in
    0) ;;
    3)
      partial="${partial:+$partial; }volume $pvc: $(unread)"
      ;;
    *)
      if grep -q 'snapshot is empty' "$err"; then
        grep -q '^{"message_type":"error"' "$err" || { empty "$pvc" && return; }
        finish ResticFailed 44 "volume $pvc: nothing could be read by user $(id -u): $(unread)"
      fi
      return 1
      ;;
  esac
  summary=$(grep '"message_type":"summary"' "$out" | tail -n 1)
  id=$(printf '%s' "$summary" | sed -n 's/.*"snapshot_id":"\([0-9a-f]*\)".*/\1/p')
  [ -n "$id" ] || finish ResticFailed 44 "restic said nothing of the snapshot of volume $pvc"
  volumes="$volumes {\"pvc\":\"$pvc\",\"id\":\"$id\",\"bytes\":$(field total_bytes_processed),\"added\":$(field data_added_packed),\"files\":$(field total_files_processed)}"
}

# Whether there is more in $work/entries than a file system has of its own.
has_files() { grep -qvx 'lost+found' "$work/entries"; }

empty() { volumes="$volumes {\"pvc\":\"$1\",\"empty\":true}"; }

# A number of the summary.
field() {
  found=$(printf '%s' "$summary" | sed -n 's/.*"'"$1"'":\([0-9][0-9]*\).*/\1/p')
  printf '%s' "${found:-0}"
}

partial=
full=
refused=

backup() {
  none=1
  for folder in "$DATA_DIR"/*/; do
    [ -d "$folder" ] || continue
    none=
    save "$folder" && continue
    is_full || fail "$(cause)"
    # Room may be made by what comes yet, and then the next run succeeds.
    full=$(cause)
    return
  done
  [ -z "$none" ] || finish ResticFailed 44 "there is no volume in $DATA_DIR"
}

forget() {
  code=0
  # What was saved before may be all that is left of what could not be read now.
  if [ -n "$partial" ] && [ "${ALLOW_PARTIAL:-}" != 1 ]; then return; fi
  [ -n "${FORGET_ARGS:-}" ] || return 0
  set -f
  # shellcheck disable=SC2086 # It is a list.
  run restic forget --json --retry-lock "$RETRY_LOCK" --tag "$BACKUP_TAG" --group-by host $FORGET_ARGS
  set +f
  # Of those that it could not delete restic lists the new ones as gone, too: nothing is counted.
  [ "$code" != 0 ] || count
}

# Counts what `forget` kept and removed. In JSON's strings quotes have a backslash, so that the fields are found.
count() {
  counts=$(awk '{
    groups = split($0, group, /"keep":/)
    for (i = 2; i <= groups; i++) {
      sub(/,"reasons":.*/, "", group[i])
      split(group[i], list, /,"remove":/)
      kept += gsub(/"short_id":"/, "", list[1])
      removed += gsub(/"short_id":"/, "", list[2])
    }
  } END { print kept + 0, removed + 0 }' "$out")
  kept=${counts% *}
  removed=${counts#* }
}

prune() {
  run restic prune --quiet --retry-lock "$RETRY_LOCK" || return
  pruned=true
}

check() {
  run restic check --quiet --retry-lock "$RETRY_LOCK" || fail "$(cause)"
  checked=true
}

# The snapshots of this Backup as lines `<seconds> <nanoseconds> <id> <time>`, the oldest first: snapshots [--host <host>].
snapshots() {
  run restic snapshots --json --retry-lock "$RETRY_LOCK" --tag "$BACKUP_TAG" "$@" || fail "$(cause)"
  awk "$times"' {
    found = split($0, snapshot, /\{"time":"/)
    for (i = 2; i <= found; i++) {
      if (!match(snapshot[i], /"id":"[0-9a-f]+"/)) continue
      id = substr(snapshot[i], RSTART + 6, RLENGTH - 7)
      time = substr(snapshot[i], 1, index(snapshot[i], "\"") - 1)
      print moment(time), id, time
    }
  }' "$out" | sort -k 1,1n -k 2,2n >"$work/snapshots"
}

# For awk: a time of RFC 3339 as seconds and nanoseconds since 1970, in whatever zone it was written. Empty if it is none.
# shellcheck disable=SC2016 # awk's, not the shell's.
times='
function moment(text,    y, m, d, seconds, fraction, zone, sign) {
  if (text !~ /^[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9][Tt][0-9][0-9]:[0-9][0-9]:[0-9][0-9]/) return ""
  y = substr(text, 1, 4) + 0; m = substr(text, 6, 2) + 0; d = substr(text, 9, 2) + 0
  seconds = substr(text, 12, 2) * 3600 + substr(text, 15, 2) * 60 + substr(text, 18, 2)
  zone = substr(text, 20)
  fraction = "0"
  if (match(zone, /^\.[0-9]+/)) { fraction = substr(zone, 2, RLENGTH - 1); zone = substr(zone, RLENGTH + 1) }
  fraction = substr(fraction "000000000", 1, 9)
  if (zone ~ /^[+-][0-9][0-9]:[0-9][0-9]$/) {
    sign = substr(zone, 1, 1) == "-" ? 1 : -1
    seconds += sign * (substr(zone, 2, 2) * 3600 + substr(zone, 5, 2) * 60)
  } else if (zone !~ /^[Zz]$/) return ""
  # Days since 1970 by years that begin in March.
  if (m <= 2) { y--; m += 12 }
  d += 365 * y + int(y / 4) - int(y / 100) + int(y / 400) + int((153 * (m - 3) + 2) / 5) - 719469
  return sprintf("%.0f %s", d * 86400 + seconds, fraction)
}'

restore() {
  [ -n "${RESTORE_VOLUME:-}" ] || finish ResticFailed 44 "RESTORE_VOLUME is not set"
  [ -d "${RESTORE_TARGET:-}" ] || finish ResticFailed 44 "there is no folder ${RESTORE_TARGET:-in RESTORE_TARGET} to restore into"
  # What is there of a try before this one is ours to write over.
  begun=$RESTORE_TARGET/.homeostat-restore
  overwrite=never
  if [ "${OVERWRITE:-}" = 1 ]; then
    overwrite=always
  elif [ -n "${RESTORE_ID:-}" ] && [ "$(cat "$begun" 2>/dev/null)" = "$RESTORE_ID" ]; then
    overwrite=always
  else
    ls -A "$RESTORE_TARGET" >"$work/entries" || finish ResticFailed 44 "$RESTORE_TARGET cannot be read by user $(id -u)"
    if has_files; then finish TargetNotEmpty 45 "it has $(grep -vx 'lost+found' "$work/entries" | head -n 1)"; fi
  fi
  choose
  if [ -n "${RESTORE_ID:-}" ] && [ "${OVERWRITE:-}" != 1 ]; then
    printf '%s' "$RESTORE_ID" 2>/dev/null >"$begun" || finish ResticFailed 44 "$RESTORE_TARGET cannot be written by user $(id -u)"
  fi
  # Patterns as arguments, since in a file restic would put in variables. What is no wildcard in a path shall be none here.
  # restic would put a folder in the place of a link.
  folder=$(cd -P "$RESTORE_TARGET" && pwd -P) || finish ResticFailed 44 "$RESTORE_TARGET cannot be entered by user $(id -u)"
  set -- restore "$id" --json --sparse --target "$folder" --retry-lock "$RETRY_LOCK"
  # Never: even if somebody wrote there since we looked.
  set -- "$@" --overwrite "$overwrite"
  [ -z "${RESTORE_PATHS:-}" ] || printf '%s\n' "$RESTORE_PATHS" >"$work/paths"
  if [ -n "${RESTORE_PATHS:-}" ]; then
    while IFS= read -r path; do
      path=/${path#/}
      [ "$path" != / ] || continue
      run restic ls --retry-lock "$RETRY_LOCK" "$id" "${path%/}" || fail "$(cause)"
      # Its first line is about the snapshot.
      [ -n "$(sed -n '/^\//p' "$out" | head -n 1)" ] ||
        finish SnapshotNotFound 46 "snapshot $(short "$id") of volume $RESTORE_VOLUME has no $path"
      set -- "$@" --include "$(printf '%s' "${path%/}" | sed 's/[][*?\\]/\\&/g')"
    done <"$work/paths"
  fi
  run restic "$@" || fail "$(cause)"
  rm -f "$begun"
  summary=$(grep '"message_type":"summary"' "$out" | tail -n 1)
  restored="{\"snapshot\":\"$id\",\"bytes\":$(field bytes_restored),\"files\":$(field files_restored)}"
}

# Finds the snapshot to restore, in $id. Only among this Backup's of that volume, whatever id is named: others in the same repository
# may be another tenant's.
choose() {
  whose="of volume $RESTORE_VOLUME in Backup $BACKUP_TAG"
  snapshots --host "$BACKUP_HOST/$RESTORE_VOLUME"
  newest=$(tail -n 1 "$work/snapshots")
  [ -n "$newest" ] || finish SnapshotNotFound 46 "there is no snapshot $whose"
  if [ "${SNAPSHOT:-latest}" = latest ]; then
    asked=
    if [ -n "${AS_OF:-}" ]; then
      asked=$(awk -v text="$AS_OF" "$times"' BEGIN { print moment(text) }' </dev/null)
      [ -n "$asked" ] || finish SnapshotNotFound 46 "$AS_OF is no time such as 2026-01-31T08:00:00Z"
    fi
    id=$(awk -v limit="$asked" '
      BEGIN { split(limit, last, " ") }
      limit == "" || $1 + 0 < last[1] + 0 || ($1 + 0 == last[1] + 0 && $2 + 0 <= last[2] + 0) { id = $3 }
      END { print id }' "$work/snapshots")
    [ -n "$id" ] || finish SnapshotNotFound 46 \
      "there is no snapshot $whose from $AS_OF or before; the oldest is of $(head -n 1 "$work/snapshots" | cut -d ' ' -f 4)"
    return
  fi
  id=
  case $SNAPSHOT in
    *[!0-9a-f]*) ;;
    ????????*) id=$(awk -v id="$SNAPSHOT" 'index($3, id) == 1 { print $3 }' "$work/snapshots") ;;
  esac
  case $id in
    '' | *[!0-9a-f]*)
      id=$(printf '%s' "$newest" | cut -d ' ' -f 3)
      finish SnapshotNotFound 46 \
        "there is no snapshot $SNAPSHOT $whose; the newest is $(short "$id") of $(printf '%s' "$newest" | cut -d ' ' -f 4)"
      ;;
  esac
}

short() { printf '%s' "$1" | cut -c 1-8; }

# Deletes every snapshot of this Backup, and nothing else.
delete() {
  snapshots
  count=$(wc -l <"$work/snapshots")
  if [ "$count" -gt 0 ]; then
    run restic forget --json --retry-lock "$RETRY_LOCK" --tag "$BACKUP_TAG" --group-by host --unsafe-allow-remove-all
    [ "$code" != 3 ] || finish RetentionFailed 47 "$(cause)"
    [ "$code" = 0 ] || fail "$(cause)"
  fi
  removed=$((count))
  kept=0
  prune || fail "$(cause)"
}

# --- The run ---

mkdir -p "$work" || finish ResticFailed 44 "$work cannot be made"
: >"$err"
# Without them, restic would take everybody's snapshots for ours.
case ${BACKUP_HOST:-} in '' | *,*) finish ResticFailed 44 "BACKUP_HOST is not set, or has a comma" ;; esac
case ${BACKUP_TAG:-} in '' | *,*) finish ResticFailed 44 "BACKUP_TAG is not set, or has a comma" ;; esac

[ $# -gt 0 ] || finish ResticFailed 44 "there is nothing to do"
for operation in "$@"; do
  echo "mover: $operation"
  case $operation in
    unlock-all) unlock_all ;;
    preflight) preflight ;;
    backup)
      backup
      # Room is made by forget and prune, if that is asked for.
      case " $* " in *' prune '*) ;; *) [ -z "$full" ] || break ;; esac
      ;;
    forget)
      forget
      if [ "$code" != 0 ] && [ -z "$full" ]; then
        # Whoever lets nobody delete says so for each snapshot, and restic then says 3.
        [ "$code" = 3 ] || fail "$(cause)"
        refused=$(cause)
      fi
      ;;
    prune) [ -n "$refused" ] || prune || [ -n "$full" ] || fail "$(cause)" ;;
    check) [ -n "$full" ] || check ;;
    restore) restore ;;
    delete) delete ;;
    *) finish ResticFailed 44 "there is no operation $operation" ;;
  esac
done
[ -z "$stopped" ] || finish Terminated 143 "ended by a signal"
operation=backup
[ -z "$full" ] || finish DestinationFull 44 "$full"
if [ -n "$partial" ]; then
  # The exit code is not 0 for the Job to fail; what is allowed is no failure.
  if [ "${ALLOW_PARTIAL:-}" != 1 ]; then finish PartiallyFailed 3 "$partial"; fi
  [ -n "$refused" ] || finish PartiallyFailed 0 "$partial"
fi
operation=forget
[ -z "$refused" ] || finish RetentionFailed 47 "$refused"
finish Succeeded 0 ""
