/** `preflight`: checks the permissions of a manager before it runs. */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Client from "../client/Client.ts"
import * as KubeConfig from "../client/KubeConfig.ts"
import * as Transport from "../client/Transport.ts"
import * as FirstContact from "../manager/FirstContact.ts"
import * as Permissions from "../manager/Permissions.ts"
import * as Preflight from "../manager/Preflight.ts"
import * as Build from "./Build.ts"
import * as Election from "./Election.ts"
import * as Flag from "./Flag.ts"
import * as Flags from "./Flags.ts"
import * as Output from "./Output.ts"
import * as Rbac from "./Rbac.ts"
import * as Verb from "./Verb.ts"
import * as Webhooks from "./Webhooks.ts"

/** A permission is missing. */
export class NotAllowed extends Data.TaggedError("NotAllowed")<{
  readonly missing: number
  readonly asked: number
  /** The command that prints the roles with all permissions. */
  readonly roles: string
}> {
  override get message(): string {
    const { asked, missing, roles } = this
    return `${missing} of ${asked} permissions ${missing === 1 ? "is" : "are"} missing (${roles} prints roles with all of them)`
  }
}

/** The verb. It prints a line for each missing permission, and fails. */
export const verb = (program: Rbac.Program & Build.Built) =>
  Verb.make("preflight", {
    description: "Check the permissions of the manager, and print the missing ones",
    flags: {
      ...Flags.cluster,
      ...Flags.scope(program.controllers.map(({ name }) => name)),
      ...Election.flags,
      installCrds: Flags.installCrds,
      metricsSecure: Flags.metricsSecure,
      webhooks: Webhooks.flag,
      output: Flag.short(
        "o",
        Flag.choice<"text" | "json", "text" | "json">(
          "output",
          { text: "text", json: "json" },
          { placeholder: "text|json", description: "The output format (default text)", otherwise: "text" }
        )
      )
    },
    examples: [
      ["Check the permissions of your own user.", "preflight"],
      ["Check one namespace, with the output for a script.", "preflight --namespace=shop -o json"]
    ],
    run: (settings) =>
      Effect.gen(function* () {
        // First, because the error is on the command line.
        yield* Effect.fromResult(Election.nameOf(program, settings))
        const cluster = yield* KubeConfig.load({ ...settings.kubeconfig, context: settings.context })
        const lease = yield* Effect.fromResult(Election.leaseOf(program, settings, cluster.namespace))
        const controllers = Flags.chosen(program.controllers, settings.controllers)
        const permissions = Permissions.all(controllers, {
          ...settings,
          kinds: program.kinds,
          lease,
          webhookAccess: Webhooks.access(program, settings, Webhooks.namespaceOf(cluster))
        })
        const client = Client.layer({ userAgent: Build.userAgent(program) })
        const { missing, unanswered } = yield* Preflight.review(permissions).pipe(
          Effect.provide(Layer.provide(client, Transport.layer(cluster)))
        )
        const isText = settings.output === "text"
        if (isText) {
          for (const permission of missing) yield* Output.print(Preflight.describe(permission))
          const remedy = Rbac.remedy(program, settings, missing)
          if (remedy !== undefined) yield* Output.print(remedy)
        }
        // Unlike `run`, it does not wait for an API server.
        const [error] = unanswered.map((one) => FirstContact.rejection(cluster, one))
        // Without all answers, a list of missing permissions would mislead a script.
        if (error !== undefined) return yield* error
        const asked = permissions.length
        if (!isText) yield* Output.print(JSON.stringify({ server: cluster.server, asked, missing }))
        if (missing.length > 0) {
          const roles = Rbac.commandOf(program, settings)
          return yield* new NotAllowed({ missing: missing.length, asked, roles })
        }
        if (!isText) return
        for (const hint of Permissions.hints(controllers)) yield* Output.print(`note: ${hint}`)
        yield* Output.print(`All ${asked} permissions that ${program.name} needs are granted on ${cluster.server}`)
      })
  })
