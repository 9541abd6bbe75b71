/**
 * `writes stop`, `writes resume`, `writes show`: stops all writes of the managers with one Lease for a time, with two annotations of the
 * Lease. The verb acts as the user of the kubeconfig, so RBAC decides who may stop writes: the verbs `get` and `patch` of the Lease.
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import * as Client from "../client/Client.ts"
import * as KubeConfig from "../client/KubeConfig.ts"
import * as Patch from "../client/Patch.ts"
import * as Transport from "../client/Transport.ts"
import * as WriteSwitch from "../client/WriteSwitch.ts"
import * as FirstContact from "../manager/FirstContact.ts"
import * as LeaseStop from "../manager/LeaseStop.ts"
import { Lease } from "../resource/BuiltIn.ts"
import * as Time from "../resource/Time.ts"
import * as Build from "./Build.ts"
import * as Election from "./Election.ts"
import * as Flag from "./Flag.ts"
import * as Flags from "./Flags.ts"
import * as Output from "./Output.ts"
import * as Verb from "./Verb.ts"

const actions = ["stop", "resume", "show"] as const

type Action = (typeof actions)[number]

const actionOf = ([word]: ReadonlyArray<string>): Result.Result<Action, Verb.UsageError> => {
  const found = actions.find((action) => action === word)
  return found === undefined
    ? Result.fail(
        new Verb.UsageError({
          message: `invalid action: ${JSON.stringify(word ?? "")} (must be one of ${actions.join(", ")})`
        })
      )
    : Result.succeed(found)
}

const longest = Duration.millis(LeaseStop.longestMillis)

const flags = {
  ...Flags.cluster,
  leaseName: Election.flags.leaseName,
  leaseNamespace: Election.flags.leaseNamespace,
  for: Flag.duration("for", {
    description: `With stop: how long, at most ${Duration.format(longest)}; then writes go on by themselves`,
    otherwise: "1h",
    atLeast: "1s"
  }),
  reason: Flag.text("reason", {
    placeholder: "TEXT",
    description: "With stop: the reason, in one line, for other users"
  })
}

/** The verb. */
export const verb = (program: Verb.Named & Build.Built) =>
  Verb.make("writes", {
    description: "Stop all writes of the running managers for a time, resume them, or show whether they are stopped",
    words: { placeholder: actions.join("|"), most: 1 },
    flags,
    examples: [
      ["Stop all writes for half an hour.", 'writes stop --for=30m --reason="restore of etcd"'],
      ["Resume them earlier.", "writes resume"]
    ],
    run: (settings, words) =>
      Effect.gen(function* () {
        const action = yield* Effect.fromResult(actionOf(words))
        const length = Duration.min(settings.for, longest)
        if (Duration.isGreaterThan(settings.for, length)) {
          return yield* new Verb.UsageError({
            message: `--for: too long: ${Duration.format(settings.for)} (must be at most ${Duration.format(longest)})`
          })
        }
        const cluster = yield* KubeConfig.load({ ...settings.kubeconfig, context: settings.context })
        const namespace = settings.leaseNamespace ?? cluster.namespace ?? "default"
        const key = { namespace, name: settings.leaseName ?? program.name }
        const now = yield* Clock.currentTimeMillis
        const until = now + Duration.toMillis(length)
        const annotations = {
          [LeaseStop.untilAnnotation]: action === "stop" ? Time.seconds(until) : null,
          [LeaseStop.reasonAnnotation]: action === "stop" ? (settings.reason ?? null) : null
        }
        const request =
          action === "show"
            ? Client.get(Lease, key)
            : Client.patch(Lease, key, Patch.merge({ metadata: { annotations } }))
        const lease = yield* request.pipe(
          Effect.catchTag("NotFound", () =>
            Effect.fail(
              new Verb.UsageError({
                message: `no Lease ${namespace}/${key.name} (name it with --leader-elect-resource-namespace and --leader-elect-resource-name; without --leader-elect, scale the manager to 0)`,
                code: 1
              })
            )
          ),
          Effect.provide(
            Layer.provide(Client.layer({ userAgent: Build.userAgent(program) }), Transport.layer(cluster))
          ),
          Effect.mapError((error) =>
            error instanceof Verb.UsageError ? error : FirstContact.rejection(cluster, error)
          )
        )
        yield* Output.print(answerOf(lease, now))
      })
  })

/** Whether the annotations of a Lease stop writes, in one line. */
const answerOf = (lease: Lease, now: number): string => {
  const stop = LeaseStop.of(lease, now)
  const holder = lease.spec?.holderIdentity ?? ""
  const where = `${lease.metadata.namespace}/${lease.metadata.name}`
  return stop === undefined
    ? `Writes are permitted (Lease ${where}, held by ${holder === "" ? "nobody" : holder})`
    : `${WriteSwitch.describe(stop)} (Lease ${where}; its managers follow within seconds)`
}
