/**
 * Writes the webhook configurations and policies, and the CAs in them, also those of the CRDs' conversion.
 *
 * Each write requires the resourceVersion of the last read, so that a slow replica does not undo the work of another one. Every replica
 * creates configurations that are missing, and writes CAs. Only the leader changes webhooks and policies, so that replicas of two versions
 * do not undo each other's work during a rollout.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schedule from "effect/Schedule"
import type { ApiError } from "../client/ApiError.ts"
import * as Client from "../client/Client.ts"
import * as Patch from "../client/Patch.ts"
import * as BuiltIn from "../resource/BuiltIn.ts"
import type * as CustomResource from "../resource/CustomResource.ts"
import type { KubernetesObject } from "../resource/KubernetesObject.ts"
import { type InvalidObject, nameOf, type Resource } from "../resource/Resource.ts"
import type * as Admission from "./Admission.ts"
import * as Configuration from "./Configuration.ts"

type Failure = ApiError | InvalidObject

/** The settings of a registration. */
export interface Options extends Configuration.Settings {
  readonly declared: ReadonlyArray<Admission.Admission<unknown>>
  /** The kinds with several versions. */
  readonly converted: ReadonlyArray<CustomResource.Any>
}

/** The objects that contain the address of the webhooks. */
export interface Registration {
  /** Writes these CAs, in PEM, into all objects that exist, and creates the configurations that are missing. */
  readonly publish: (caBundle: string) => Effect.Effect<void, Failure>
  /** The CAs, in PEM, that all objects contain. */
  readonly published: Effect.Effect<string, Failure>
  /** The CAs of the last {@link publish} or read, for a CRD that does not exist yet; empty before. */
  readonly current: () => string
  /**
   * Changes existing configurations and writes the policies, at once and every five minutes. For the leader alone. It logs and retries
   * errors, each object on its own.
   */
  readonly reconcile: Effect.Effect<never>
}

/** How often the leader restores webhooks and policies that others changed. */
const resync = Duration.minutes(5)

const block = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

/** The certificates of a base64 `caBundle`. */
const certificatesOf = (caBundle: string | undefined): ReadonlyArray<string> =>
  Buffer.from(caBundle ?? "", "base64")
    .toString("latin1")
    .match(block) ?? []

/** The certificates that every bundle contains. */
const common = (bundles: ReadonlyArray<string | undefined>): string => {
  const [first = [], ...others] = bundles.map(certificatesOf)
  return first
    .filter((each) => others.every((other) => other.includes(each)))
    .map((each) => `${each}\n`)
    .join("")
}

/** An object that exists, with its bundles, and its write. */
interface Found {
  readonly bundles: ReadonlyArray<string | undefined>
  readonly write: (caBundle: string) => Effect.Effect<unknown, Failure, Client.Client>
}

const ifFound = <A, R>(effect: Effect.Effect<A, Failure, R>): Effect.Effect<A | undefined, Failure, R> =>
  Effect.catchIf(
    effect,
    (error) => error._tag === "NotFound",
    () => Effect.succeed(undefined)
  )

type WebhookConfiguration = KubernetesObject & {
  readonly webhooks?: ReadonlyArray<{ readonly clientConfig: { readonly caBundle?: string } }>
}

/** The address of a webhook, as text. */
const addressOf = (address: object): string => {
  const { service, url } = address as {
    readonly service?: { namespace?: string; name?: string }
    readonly url?: string
  }
  return url ?? `Service ${service?.namespace}/${service?.name}`
}

/** A webhook with other CAs. */
const trusting =
  (caBundle: string) =>
  <W extends NonNullable<WebhookConfiguration["webhooks"]>[number]>(webhook: W): W => ({
    ...webhook,
    clientConfig: { ...webhook.clientConfig, caBundle: Buffer.from(caBundle).toString("base64") }
  })

/** Whether a value has all fields of another one; lists must have the same length. The API server adds its defaults. */
const includes = (found: unknown, wanted: unknown): boolean => {
  if (Array.isArray(wanted)) {
    return (
      Array.isArray(found) &&
      found.length === wanted.length &&
      wanted.every((each, index) => includes(found[index], each))
    )
  }
  if (typeof wanted !== "object" || wanted === null) return Bun.deepEquals(found, wanted, true)
  return (
    typeof found === "object" &&
    found !== null &&
    Object.entries(wanted).every(([name, value]) => includes((found as Record<string, unknown>)[name], value))
  )
}

/** Whether the selectors of both are equal; the API server writes an absent one as an empty one. */
const hasSelectorsOf = (found: WebhookConfiguration, { webhooks }: Configuration.Desired): boolean => {
  const selectorsOf = (webhook: object | undefined) => {
    const { namespaceSelector = {}, objectSelector = {} } = { ...webhook } as {
      readonly namespaceSelector?: object
      readonly objectSelector?: object
    }
    return [namespaceSelector, objectSelector]
  }
  return webhooks.every((webhook, at) => Bun.deepEquals(selectorsOf(found.webhooks?.[at]), selectorsOf(webhook), true))
}

/** The registration of a program. It writes nothing by itself. */
export const make = (options: Options): Effect.Effect<Registration, never, Client.Client> =>
  Effect.gen(function* () {
    const { converted, declared, program } = options
    const fieldManager = program
    const wanted = (caBundle?: string) => Configuration.configurations(declared, options, caBundle)
    const shapes = wanted()
    let current = ""

    const configuration = (
      resource: Resource<WebhookConfiguration, never>,
      kind: "validating" | "mutating"
    ): Effect.Effect<ReadonlyArray<Found>, Failure, Client.Client> => {
      const shape = shapes[kind]
      if (shape === undefined) return Effect.succeed([])
      const { name } = shape.metadata
      return Effect.map(ifFound(Client.get(resource, { name })), (found) => {
        const existing = found?.webhooks ?? []
        return [
          {
            bundles: existing.length === 0 ? [undefined] : existing.map(({ clientConfig }) => clientConfig.caBundle),
            write: (caBundle) => {
              const object = wanted(caBundle)[kind] ?? shape
              if (found === undefined) {
                return Client.create(resource as Resource<WebhookConfiguration>, object, { fieldManager })
              }
              // The webhooks may be those of a newer version, which this one must not change.
              const patch = existing.length === 0 ? { ...object } : { webhooks: existing.map(trusting(caBundle)) }
              return Client.patch(resource, { name }, Patch.merge(guarded(found, patch)), { fieldManager })
            }
          }
        ]
      })
    }

    const ours = Configuration.clientConfig(options.target, "/convert")
    const isOurs = (address: object | undefined): boolean => address !== undefined && includes(address, ours)

    /** The CRDs with another address, which have a warning in the log. */
    const elsewhere = new Map<string, string>()
    const report = (name: string, address: object | undefined): Effect.Effect<void> => {
      const other = address === undefined ? "none" : addressOf(address)
      if (elsewhere.get(name) === other) return Effect.void
      elsewhere.set(name, other)
      return Effect.logWarning(
        `CustomResourceDefinition ${name} has another address for conversions: ${other} (run with --install-crds to set ${addressOf(ours)})`
      )
    }

    const definition = (kind: CustomResource.Any): Effect.Effect<ReadonlyArray<Found>, Failure, Client.Client> => {
      const resource = BuiltIn.CustomResourceDefinition
      const name = nameOf(kind)
      return Effect.flatMap(ifFound(Client.get(resource, { name })), (found) => {
        if (found === undefined) return Effect.succeed([])
        const { strategy, webhook } = found.spec.conversion ?? {}
        const address = strategy === "Webhook" ? webhook?.clientConfig : undefined
        // Another manager may convert this kind, and `Crds.install` writes a conversion that is missing.
        if (!isOurs(address)) return Effect.as(report(name, address), [])
        elsewhere.delete(name)
        return Effect.succeed([
          {
            bundles: [webhook?.clientConfig?.caBundle],
            write: (caBundle) =>
              Client.patch(
                resource,
                { name },
                Patch.merge(
                  guarded(found, {
                    spec: {
                      conversion: {
                        webhook: { clientConfig: { caBundle: Buffer.from(caBundle).toString("base64") } }
                      }
                    }
                  })
                ),
                { fieldManager }
              )
          }
        ])
      })
    }

    const read = Effect.map(
      Effect.all([
        configuration(BuiltIn.ValidatingWebhookConfiguration, "validating"),
        configuration(BuiltIn.MutatingWebhookConfiguration, "mutating"),
        ...converted.map(definition)
      ]),
      (all) => all.flat()
    )
    const context = yield* Effect.context<Client.Client>()
    /** The objects of the last read. */
    let last: ReadonlyArray<Found> | undefined

    const published = Effect.map(read, (found) => {
      last = found
      if (found.length === 0) return current
      const bundle = common(found.flatMap(({ bundles }) => bundles))
      current = bundle || current
      return bundle
    })
    const publish = (caBundle: string) =>
      Effect.gen(function* () {
        const results = yield* Effect.forEach(last ?? (yield* read), ({ write }) => Effect.result(write(caBundle)))
        for (const result of results) if (Result.isFailure(result)) return yield* Effect.fail(result.failure)
        current = caBundle
      })

    /** Changes configurations of an older version, with the CAs that they have. */
    const reshape = Effect.forEach(
      [
        [BuiltIn.ValidatingWebhookConfiguration, shapes.validating],
        [BuiltIn.MutatingWebhookConfiguration, shapes.mutating]
      ] as const,
      ([resource, shape]) =>
        Effect.gen(function* () {
          if (shape === undefined) return
          const { name } = shape.metadata
          const found = yield* ifFound(Client.get(resource as Resource<WebhookConfiguration, never>, { name }))
          if (found === undefined || (includes(found, shape) && hasSelectorsOf(found, shape))) return
          const caBundle = [
            ...new Set((found.webhooks ?? []).flatMap((each) => certificatesOf(each.clientConfig.caBundle)))
          ]
          const both = wanted(caBundle.length === 0 ? undefined : `${caBundle.join("\n")}\n`)
          const object = shape === shapes.validating ? both.validating : both.mutating
          yield* Client.patch(resource, { name }, Patch.merge(guarded(found, { ...(object ?? shape) })), {
            fieldManager
          })
          yield* Effect.logInfo(`Updated ${resource.kind} ${name}`)
        }),
      { discard: true }
    )

    const reconcile = Effect.all(
      [
        persistent("update the webhook configurations", reshape),
        ...Configuration.policies(declared, options).map((policy) =>
          persistent(`write the rule ${policy.rule.name} of ${nameOf(policy.resource)}`, writePolicy(policy, program))
        )
      ],
      { concurrency: "unbounded" }
    )
    return {
      publish: (caBundle) => Effect.provide(publish(caBundle), context),
      published: Effect.provide(published, context),
      current: () => current,
      reconcile: Effect.provide(Effect.andThen(reconcile, Effect.never), context)
    }
  })

/** A merge patch that requires the version of the object that was read. */
const guarded = (
  found: KubernetesObject,
  patch: { readonly metadata?: object; readonly [field: string]: unknown }
): object => ({
  ...patch,
  metadata: { ...patch.metadata, resourceVersion: found.metadata.resourceVersion }
})

/** Repeats a step. Errors are retried sooner, at most a minute apart. */
const persistent = <A, R>(what: string, step: Effect.Effect<A, Failure, R>): Effect.Effect<void, never, R> =>
  step.pipe(
    Effect.tapError(({ message }) => Effect.logWarning(`Cannot ${what}, retrying: ${message}`)),
    Effect.retry(Schedule.min([Schedule.exponential("1 second"), Schedule.spaced("1 minute")])),
    // The schedule does not end.
    Effect.ignore,
    Effect.andThen(Effect.sleep(resync)),
    Effect.forever
  )

/** The wanted fields, and null for the optional ones that are not wanted. */
const without = (optional: ReadonlyArray<string>, wanted: object): object => ({
  ...Object.fromEntries(optional.map((field) => [field, null])),
  ...wanted
})

/**
 * Writes a policy and its binding. A merge patch, because a server-side apply would keep selectors and conditions that others have added to
 * narrow the policy.
 */
const writePolicy = ({ binding, policy }: ReturnType<typeof Configuration.policies>[number], fieldManager: string) => {
  const write = (
    resource: Resource<KubernetesObject, never>,
    object: { readonly metadata: { readonly name: string }; readonly spec: object },
    spec: object
  ) =>
    Effect.catchIf(
      Client.patch(resource, { name: object.metadata.name }, Patch.merge({ ...object, spec }), { fieldManager }),
      (error) => error._tag === "NotFound",
      () => Client.create(resource as Resource<KubernetesObject>, object, { fieldManager })
    )
  const matchConstraints = without(
    ["namespaceSelector", "objectSelector", "excludeResourceRules"],
    policy.spec.matchConstraints
  )
  return Effect.andThen(
    write(BuiltIn.ValidatingAdmissionPolicy, policy, {
      ...without(["paramKind", "variables", "auditAnnotations"], policy.spec),
      matchConstraints
    }),
    write(BuiltIn.ValidatingAdmissionPolicyBinding, binding, without(["paramRef", "matchResources"], binding.spec))
  )
}
