/**
 * A Kubernetes API server: requests in, responses out, over a store in memory.
 *
 * Each request runs in one synchronous step, with the time of Effect's Clock. The handlers throw every failure; this module catches it and
 * returns a Status. A response that has to wait (for a revision, or for the events of a watch) is an Effect. If a step needs the response
 * of a webhook, it runs again with that response.
 */

import type { Scope } from "effect"
import { Clock, Effect, Random } from "effect"
import * as Authentication from "../access/Authentication.ts"
import * as BootstrapPolicy from "../access/BootstrapPolicy.ts"
import * as Impersonation from "../access/Impersonation.ts"
import * as RbacAuthorizer from "../access/RbacAuthorizer.ts"
import * as ServiceAccountTokens from "../access/ServiceAccountTokens.ts"
import type { Plugin, ServerState } from "../admission/ServerState.ts"
import { kinds as builtInKinds } from "../kinds/BuiltInKinds.ts"
import { names } from "../kinds/Names.ts"
import type { Kind } from "../model/Kind.ts"
import * as Registry from "../model/Registry.ts"
import { complete, type User } from "../model/User.ts"
import * as CustomDefinitions from "../rest/CustomDefinitions.ts"
import * as Verbs from "../rest/Verbs.ts"
import * as Watch from "../rest/Watch.ts"
import * as Identity from "../storage/Identity.ts"
import * as Step from "../storage/Step.ts"
import * as Store from "../storage/Store.ts"
import * as Outside from "../webhook/Outside.ts"
import * as Access from "./AccessFilter.ts"
import * as Bootstrap from "./Bootstrap.ts"
import * as Exchange from "./Exchange.ts"
import * as Path from "./Path.ts"
import type { Logs, RequestScope } from "./RequestScope.ts"
import type * as Resources from "./Resources.ts"
import * as Root from "./Root.ts"
import * as Routes from "./Routes.ts"

export type { HttpRequest, HttpResponse } from "./Exchange.ts"

/** The options of a server. */
export interface Options {
  /** The kinds that the server always serves. Default: the built-in kinds that this server implements. */
  readonly kinds?: ReadonlyArray<Kind> | undefined
  /** The initial objects, from `saved` of another server. */
  readonly saved?: Store.Saved | undefined
  /** Makes uids and generated names deterministic. Default: a seed from Effect's Random. */
  readonly seed?: number | undefined
  /** The number of changes that the server keeps for watches and for lists of earlier revisions. */
  readonly history?: number | undefined
  /** The user of a request without credentials. Default: an administrator. */
  readonly user?: User | undefined
  /** True if every user may do everything, as with the authorization mode AlwaysAllow. Default: false, the mode RBAC. */
  readonly alwaysAllow?: boolean | undefined
  /**
   * The admission plugins to enable besides those that are on by default. `ServiceAccount` needs the ServiceAccount `default` in each
   * namespace, which the controllers create. Default: none, as in envtest.
   */
  readonly admissionPlugins?: ReadonlyArray<Plugin> | undefined
  /** True if the ClusterRoles `admin`, `edit` and `view` have the rules that the clusterrole-aggregation-controller adds. Default: true. */
  readonly aggregatedRoles?: boolean | undefined
  /** The address at which clients reach the server, for `/api`: `127.0.0.1:6443`. */
  readonly address?: string | undefined
  /** The addresses of the Services of webhooks. Default: their external names, or one of their endpoints. */
  readonly services?: Outside.Services | undefined
  /** Webhooks in this process. Default: none. */
  readonly inside?: Outside.Inside | undefined
}

/** A server. */
export interface ApiServer {
  /** Handles a request. Never fails: every error is a response. */
  readonly handle: (request: Exchange.HttpRequest) => Effect.Effect<Exchange.HttpResponse>
  /** Handles a request at a time in milliseconds since 1970. Returns an Effect only if the response has to wait. */
  readonly answer: (
    request: Exchange.HttpRequest,
    now: number
  ) => Exchange.HttpResponse | Effect.Effect<Exchange.HttpResponse>
  readonly store: Store.Store
  /** The verbs without HTTP, for controllers inside of the server. */
  readonly verbs: Verbs.Verbs
  readonly registry: Registry.Registry
  /** Registers a bearer token: requests with it are of this user, who is also in the group `system:authenticated`. */
  readonly addToken: (token: string, user: User) => void
  /** Registers the source of pod logs, and replaces the previous source. */
  readonly serveLogs: (logs: Logs) => void
  /** Continues the uids and generated names with those of another seed. */
  readonly reseed: (seed: number) => void
  /** The whole state, for the option `saved` of another server. */
  readonly saved: () => Store.Saved
  /**
   * Restores a state that `saved` returned, in milliseconds. Watches continue: their clients see the differences as events. No webhook,
   * policy or finalizer takes part.
   */
  readonly restore: (saved: Store.Saved) => Effect.Effect<void>
}

/** The issuer of service account tokens, as kubeadm sets it. */
const issuer = "https://kubernetes.default.svc.cluster.local"

const administrator: User = { name: "admin", groups: ["system:masters", "system:authenticated"] }

/** Makes a server. It holds only memory, so it needs no release. */
export const make = (options: Options = {}): Effect.Effect<ApiServer, never, Scope.Scope> =>
  Effect.gen(function* () {
    const seed = options.seed ?? (yield* Random.nextIntBetween(0, 2 ** 31, { halfOpen: true }))
    const now = yield* Clock.currentTimeMillis
    const store = Store.make({ history: options.history, saved: initial(options, now) })
    const roles = RbacAuthorizer.make(store)
    const authorizer =
      options.alwaysAllow === true ? { ...roles, authorize: () => ({ allowed: true, reason: "" }) } : roles
    const authentication = Authentication.make(ServiceAccountTokens.make(store, seed, issuer))
    const state: ServerState = {
      store,
      authorizer,
      authentication,
      plugins: new Set(options.admissionPlugins),
      outside: Outside.make(store, options.services, options.inside),
      registry: Registry.make(options.kinds ?? builtInKinds),
      identity: Identity.make(seed),
      definitions: new Map()
    }
    const verbs = Verbs.make(state)
    const scope: RequestScope = {
      state,
      verbs,
      watches: Watch.shared(),
      builtInGroups: new Set(names.map(({ group }) => group)),
      impersonation: Impersonation.make(authorizer),
      user: options.user ?? administrator,
      address: options.address ?? "127.0.0.1:6443",
      logs: undefined
    }
    const definition = state.registry.named("apiextensions.k8s.io/v1", "CustomResourceDefinition")
    if (definition !== undefined) CustomDefinitions.reconcile(state, definition, now)
    Bootstrap.fill(state, verbs, now)
    return {
      handle: (request) =>
        Effect.flatMap(Clock.currentTimeMillis, (now) => {
          const answer = answerAt(scope, request, now)
          return Effect.isEffect(answer) ? answer : Effect.succeed(answer)
        }),
      answer: (request, now) => answerAt(scope, request, now),
      store: state.store,
      verbs,
      registry: state.registry,
      addToken: (token, user) => authentication.addToken(token, complete(user)),
      serveLogs: (logs) => {
        scope.logs = logs
      },
      reseed: state.identity.reseed,
      saved: state.store.saved,
      restore: (saved) =>
        Effect.map(Clock.currentTimeMillis, (now) => {
          store.restore(saved)
          if (definition !== undefined) CustomDefinitions.reconcile(state, definition, now)
        })
    }
  })

/** The initial objects of the store: roles and bindings of the served kinds, and a saved state. */
const initial = ({ aggregatedRoles, kinds, saved }: Options, now: number): Store.Saved | undefined => {
  if (
    kinds !== undefined ||
    RbacAuthorizer.plurals.every((plural) => saved?.storages[RbacAuthorizer.storageOf(plural)] !== undefined)
  ) {
    return saved
  }
  const bootstrap = BootstrapPolicy.saved(now, aggregatedRoles)
  return saved === undefined ? bootstrap : { ...saved, storages: { ...bootstrap.storages, ...saved.storages } }
}

const answerAt = (
  scope: RequestScope,
  request: Exchange.HttpRequest,
  now: number
): Exchange.HttpResponse | Effect.Effect<Exchange.HttpResponse> => {
  const warnings = new Set<string>()
  const refuse = (error: unknown) =>
    Exchange.refusal({ warnings, accept: request.headers.accept }, Step.failureOf(error))
  const step = Step.make()
  const decide = () => {
    warnings.clear()
    const target = Path.target(request.path)
    const user = request.user ?? scope.state.authentication.userOf(request.headers.authorization, now) ?? scope.user
    return answered(scope, { request, target, user, now, warnings })
  }
  const done = (answer: Resources.Answer) => (Effect.isEffect(answer) ? answer : Effect.succeed(answer))
  const refused = Effect.catch((error: unknown) => Effect.succeed(refuse(error)))
  try {
    const answer = Step.attempt(step, decide)
    return Effect.isEffect(answer) ? refused(answer) : answer
  } catch (error) {
    if (!(error instanceof Step.Pending)) return refuse(error)
    return refused(Effect.flatMap(Step.answered(step, error, decide), done))
  }
}

const answered = (scope: RequestScope, exchange: Exchange.Exchange) => {
  const parts = Path.parts(exchange.target.path)
  if (parts === undefined) return Exchange.text(400, "400 Bad Request")
  const resource = Path.resource(parts)
  const user = Access.allowed(
    { authorizer: scope.state.authorizer, impersonation: scope.impersonation },
    exchange,
    resource
  )
  const allowed = user === exchange.user ? exchange : { ...exchange, user }
  if (resource === undefined) return Root.answer(scope, allowed, parts)
  return Routes.answer(scope, allowed, resource) ?? Exchange.nothing
}
