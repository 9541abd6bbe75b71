/** Service accounts with exactly the generated roles, and their managers. */
import * as Client from "@homeostat/runtime/client/Client"
import type { Request } from "@homeostat/runtime/client/Request"
import * as Transport from "@homeostat/runtime/client/Transport"
import type * as Attempt from "@homeostat/runtime/controller/Attempt"
import type { Controller } from "@homeostat/runtime/controller/Controller"
import * as LeaderElection from "@homeostat/runtime/manager/LeaderElection"
import * as Manager from "@homeostat/runtime/manager/Manager"
import * as Permissions from "@homeostat/runtime/manager/Permissions"
import * as Preflight from "@homeostat/runtime/manager/Preflight"
import * as Rbac from "@homeostat/runtime/manager/Rbac"
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import type { User } from "@homeostat/testkit/envtest/User"
import { controller } from "@homeostat/webapp"
import { Effect, Latch, Layer, Result, type Scope } from "effect"
import * as Managed from "../Managed.ts"
import * as Counted from "../runtime/Counted.ts"

export interface Account {
  readonly cluster: ControlPlane
  readonly user: User
  readonly controllers: ReadonlyArray<Controller<Manager.Runtime>>
  readonly settings: Rbac.Settings
}

/** A new account in the namespace without permissions, by default for the WebApp controller. */
export const account = (
  cluster: ControlPlane,
  namespace: string,
  settings: Partial<Permissions.Settings> = {},
  controllers: Account["controllers"] = [controller]
) => {
  const name = `manager-${crypto.randomUUID().slice(0, 8)}`
  // RBAC knows a service account by its user name.
  return Effect.map(
    cluster.addUser({ name: `system:serviceaccount:${namespace}:${name}` }),
    (user): Account => ({
      cluster,
      user,
      controllers,
      settings: {
        name,
        serviceAccount: { namespace, name },
        namespaces: [],
        lease: undefined,
        installCrds: false,
        ...settings
      }
    })
  )
}

export const permissions = ({ controllers, settings }: Account) => Permissions.all(controllers, settings)

/** The output of `homeostat rbac`. */
export const roles = ({ controllers, settings }: Account) => Rbac.objects(controllers, settings)

export const client = ({ user }: Account) =>
  Client.layer().pipe(Layer.provide(Transport.layer(Counted.clusterOf(user))))

/** The missing permissions. */
export const missing = (account: Account) =>
  Preflight.review(permissions(account)).pipe(
    Effect.flatMap(({ missing, unanswered: [error] }) =>
      error === undefined ? Effect.succeed(missing) : Effect.fail(error)
    ),
    Effect.provide(client(account))
  )

/** Applies the generated roles without the permissions in `lacking`, such as `create services`, and waits for their effect. */
export const grant = (account: Account, lacking: ReadonlyArray<string> = []) =>
  Effect.gen(function* () {
    const some = roles(account).map((object) =>
      "rules" in object ? { ...object, rules: object.rules.flatMap(less(lacking)) } : object
    )
    for (const object of some) {
      const { metadata } = object
      const place = metadata.namespace === undefined ? "" : `/namespaces/${metadata.namespace}`
      const path = `/apis/${object.apiVersion}${place}/${object.kind.toLowerCase()}s/${metadata.name}`
      const applied = yield* account.cluster.request("PATCH", `${path}?fieldManager=test&force=true`, {
        body: object,
        contentType: "application/apply-patch+yaml"
      })
      if (applied.status >= 300) return yield* Effect.die(new Error(applied.body))
    }
    yield* Managed.eventually(
      "the applied permissions",
      Effect.map(missing(account), (all) => all.map((each) => `${each.verb} ${Permissions.pathOf(each)}`)),
      (all) => all.every((one) => lacking.includes(one)) && lacking.every((one) => all.includes(one))
    )
  })

const less =
  (lacking: ReadonlyArray<string>) =>
  (rule: Rbac.Rule): ReadonlyArray<Rbac.Rule> =>
    rule.resources
      .map((resource) => ({
        ...rule,
        resources: [resource],
        verbs: rule.verbs.filter((verb) => !lacking.includes(`${verb} ${resource}`))
      }))
      .filter(({ verbs }) => verbs.length > 0)

/** A manager of an account. */
export interface Working {
  readonly runners: Effect.Success<ReturnType<typeof Manager.start>>
  readonly attempts: ReadonlyArray<Attempt.Attempt>
  /** The warnings and errors of the log. */
  readonly warnings: ReadonlyArray<string>
  readonly leads: () => boolean
  /** Holds back all further events of these kinds. */
  readonly deafen: (plurals: ReadonlyArray<string>) => Effect.Effect<void>
  /** Delivers the held events. */
  readonly listen: Effect.Effect<void>
}

/** Starts a manager without waiting for it. */
export const start = (
  { controllers, settings, user }: Account,
  labelSelector?: string
): Effect.Effect<Working, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { attempts, observed, warnings } = Counted.recorder()
    const hearing = yield* Latch.make(true)
    let unheard: ReadonlyArray<string> = []
    const isUnheard = (request: Request) => unheard.some((plural) => request.path.includes(`/${plural}?`))
    const deaf = Layer.effect(
      Transport.Transport,
      Effect.map(Transport.Transport, (transport) => ({
        ...transport,
        open: (request: Request) =>
          Effect.map(transport.open(request), (streaming) => ({
            ...streaming,
            next: Effect.tap(streaming.next, () => (isUnheard(request) ? hearing.await : Effect.void))
          }))
      }))
    )
    const identity = LeaderElection.identityOf("test")
    // With the scope that `run` records in the Lease.
    const scope = {
      controllers: controllers.map(({ name }) => name),
      namespaces: settings.namespaces ?? [],
      selector: labelSelector
    }
    const election =
      settings.lease === undefined
        ? undefined
        : Result.getOrThrow(LeaderElection.make({ ...settings.lease, identity, scope }))
    const services = Manager.layer({ namespaces: settings.namespaces, instance: "test" }).pipe(
      Layer.provide(Layer.provide(deaf, Transport.layer(Counted.clusterOf(user))))
    )
    const runners = yield* Effect.gen(function* () {
      const context = yield* Layer.build(services)
      return yield* Effect.provide(Manager.start(controllers, { leaderElection: election, labelSelector }), context)
    }).pipe(observed)
    return {
      runners,
      attempts,
      warnings,
      leads: () => election?.state().leading ?? true,
      deafen: (plurals) =>
        Effect.suspend(() => {
          unheard = plurals
          return Effect.asVoid(hearing.close)
        }),
      listen: Effect.asVoid(hearing.open)
    }
  })
