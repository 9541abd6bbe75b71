/** Runs each command of the runbooks of the alerts, with the built program, a manager at work and a locked repository of restic. */
import { describe, expect } from "bun:test"
import * as Assets from "@homeostat/testkit/envtest/Assets"
import * as Envtest from "@homeostat/testkit/envtest/Envtest"
import * as Shared from "@homeostat/testkit/Shared"
import { Effect } from "effect"
import * as Runbooks from "./Runbooks.ts"
import * as Surroundings from "./Surroundings.ts"

/** A separate control plane, because the manager installs cluster-wide objects. The harmless flag makes it separate. */
const alone = { ...Envtest.everything, apiServerFlags: ["--event-ttl=58m"] }

/** The names of the runbooks in capitals. */
const names: ReadonlyArray<readonly [name: RegExp, value: string]> = [
  [/\bKIND\/NAME\b/, "webapp/shop"],
  [/\blease NAME\b/, "lease homeostat"],
  [/\bbackup NAME\b/, "backup nightly"],
  [/-n NAMESPACE\b/, "-n $NAMESPACE"],
  [/\block ID\b/, "lock $LOCK"],
  [/\bPOD\b/, "manager"]
]

const filled = (command: string): string => names.reduce((text, [name, value]) => text.replace(name, value), command)

/** These tests have no kubelet: the API server asks in vain for the log. */
const needsKubelet = (command: string): boolean => command.startsWith("kubectl logs ")

const preparation = `
export NAMESPACE="$(kubectl config view --minify -o jsonpath='{..namespace}')" HOMEOSTAT_LEADER_ELECT_RESOURCE_NAMESPACE="$(kubectl config view --minify -o jsonpath='{..namespace}')"
kubectl apply -f - <<'END'
apiVersion: backup.example.com/v1
kind: Backup
metadata: { name: nightly }
spec: { source: statefulset/database, schedule: "0 3 * * *" }
---
apiVersion: v1
kind: Pod
metadata: { name: manager, labels: { app.kubernetes.io/name: homeostat } }
spec: { containers: [{ name: manager, image: "homeostat:1" }] }
END
export RESTIC_REPOSITORY="$PWD/../repository" RESTIC_PASSWORD=secret
restic init
`

/** A backup that reads its standard input holds a lock meanwhile. */
const locked = `
mkfifo "$PWD/../input"; exec 9<>"$PWD/../input"
restic backup --stdin <"$PWD/../input" 9>&- >/dev/null 2>&1 & holder=$!
trap 'exec 9>&-; wait $holder || true; rm "$PWD/../input"' EXIT
for i in $(seq 100); do LOCK="$(restic list locks --no-lock)"; [ -z "$LOCK" ] || break; sleep 0.1; done
[ -n "$LOCK" ]`

describe("The runbooks", () => {
  Shared.real(
    "have only commands that succeed",
    (cluster) =>
      Effect.gen(function* () {
        expect(Runbooks.commands.size).toBeGreaterThan(12)
        const restic = yield* Assets.find("restic")
        const place = yield* Surroundings.surroundings(cluster)
        const run = (name: string, text: string) =>
          Surroundings.succeed(place, { place: name, text: `PATH="$PATH:$(dirname ${restic})"\n${text}` })
        yield* run("before the runbooks", Surroundings.kinds)
        yield* run("before the runbooks", Surroundings.webApp)
        yield* run("before the runbooks", preparation)
        yield* Surroundings.shell(place, "exec homeostat run --leader-elect")
        yield* Surroundings.isReady(place.probes)
        for (const [command, alerts] of Runbooks.commands) {
          const text = filled(command)
          expect([command, text.match(/\b[A-Z]{2,}\b/g)?.filter((word) => !text.includes(`$${word}`)) ?? []]).toEqual([
            command,
            []
          ])
          const where = `the runbook of ${alerts.join(", ")}`
          if (needsKubelet(command))
            yield* run(where, `{ ${text} 2>&1 || true; } | grep 'containerLogs/.*previous=true'`)
          else if (/ locks?\b/.test(command)) yield* run(where, `(${locked}\n${text})`)
          else yield* run(where, text)
        }
      }),
    { ...alone, timeoutMillis: 180_000 }
  )
})
