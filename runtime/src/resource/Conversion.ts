/**
 * Several versions of a custom kind. The hub is the version that the API server stores and that controllers use. Each spoke is another
 * served version, which converts to and from the hub. The API server calls the webhook of this program for each conversion.
 *
 * ```ts
 * const Site = Conversion.between(SiteV2, Conversion.spoke(SiteV2, SiteV1, {
 *   toHub: ({ spec }) => ({ spec: spec.host === undefined ? {} : { hosts: [spec.host] } }),
 *   fromHub: ({ spec }) => ({ spec: spec.hosts === undefined ? {} : { host: spec.hosts[0] ?? "" } })
 * }))
 * ```
 *
 * A program with such a kind needs `--webhooks`.
 */
import * as Result from "effect/Result"
import type * as CustomResource from "./CustomResource.ts"
import { InvalidDefinition } from "./InvalidDefinition.ts"
import type { KubernetesObject } from "./KubernetesObject.ts"
import { apiVersionOf } from "./Resource.ts"

/** The metadata that a conversion may change, for example to keep fields that the other version does not have. */
export interface Metadata {
  readonly labels?: { readonly [name: string]: string } | undefined
  readonly annotations?: { readonly [name: string]: string } | undefined
}

/** An object to convert, in its wire form. */
export interface Source<out Spec, out Status> {
  readonly metadata: Metadata
  readonly spec: Partial<Spec>
  readonly status?: Status | undefined
}

/** A converted object, in its wire form. Absent metadata stays as it is, and undefined fields are absent. */
export interface Target<out Spec, out Status> {
  readonly metadata?: Metadata | undefined
  readonly spec: { readonly [Field in keyof Spec]?: Spec[Field] | undefined }
  readonly status?: Status | undefined
}

/** A converted object, or the error that the user sees. */
export type Converted<Spec, Status> = Target<Spec, Status> | Result.Result<Target<Spec, Status>, string>

/**
 * The conversions of a spoke. Both must keep all information: a user who reads and writes a version must not lose fields. Any field of
 * the spec may be absent, because a server-side apply also converts the fields of one manager alone.
 */
export interface Functions<SpokeSpec, SpokeStatus, HubSpec, HubStatus> {
  readonly toHub: (object: Source<SpokeSpec, SpokeStatus>) => Converted<HubSpec, HubStatus>
  readonly fromHub: (object: Source<HubSpec, HubStatus>) => Converted<SpokeSpec, SpokeStatus>
}

/** A conversion of whole objects: the function converts the parts, and all other metadata stays. */
const whole =
  <Spec, Status>(
    target: CustomResource.Any,
    convert: (object: Source<never, never>) => Converted<Spec, Status>
  ): CustomResource.Spoke["toHub"] =>
  (object) => {
    // A server-side apply also converts the fields of one manager alone. Their spec may be absent or null.
    const { spec: given, status } = object as { readonly spec?: unknown; readonly status?: unknown }
    const hasSpec = given !== undefined && given !== null
    if (!hasSpec && (status === undefined || status === null)) {
      return Result.succeed({ ...object, apiVersion: apiVersionOf(target) })
    }
    const { annotations, labels } = object.metadata
    const source = {
      metadata: { labels: labels ?? undefined, annotations: annotations ?? undefined },
      spec: hasSpec ? given : {},
      status: status ?? undefined
    }
    const result = convert(source as Source<never, never>)
    return Result.map(Result.isResult(result) ? result : Result.succeed(result), ({ metadata, spec, status }) => ({
      apiVersion: apiVersionOf(target),
      kind: target.kind,
      metadata: {
        ...object.metadata,
        ...(metadata?.labels === undefined ? {} : { labels: metadata.labels }),
        ...(metadata?.annotations === undefined ? {} : { annotations: metadata.annotations })
      },
      // The manager of a status does not own fields that a function adds to an absent spec.
      ...(hasSpec ? { spec } : given === undefined ? {} : { spec: given }),
      ...(status === undefined ? {} : { status })
    }))
  }

/**
 * A version with its conversions to and from the hub.
 *
 * @example
 * ```ts
 * const kind = { group: "example.com", kind: "Page" }
 * const v1 = CustomResource.make({ ...kind, version: "v1", spec: Schema.Struct({ host: Schema.String }) })
 * const v2 = CustomResource.make({ ...kind, version: "v2", spec: Schema.Struct({ hosts: Schema.Array(Schema.String) }) })
 * const spoke = Conversion.spoke(v2, v1, {
 *   toHub: ({ spec }) => ({ spec: spec.host === undefined ? {} : { hosts: [spec.host] } }),
 *   fromHub: ({ spec }) => ({ spec: spec.hosts === undefined ? {} : { host: spec.hosts[0] ?? "" } })
 * })
 * spoke.resource.version // => "v1"
 * ```
 */
export const spoke = <HubSpec, HubEncoded, HubStatus, Spec, Encoded, Status>(
  hub: CustomResource.CustomResource<HubSpec, HubEncoded, HubStatus>,
  resource: CustomResource.CustomResource<Spec, Encoded, Status>,
  { fromHub, toHub }: Functions<Encoded, Status, HubEncoded, HubStatus>
): CustomResource.Spoke => ({ resource, toHub: whole(hub, toHub), fromHub: whole(resource, fromHub) })

/**
 * The hub with its spokes: use it as the kind of the controller.
 *
 * @throws InvalidDefinition if a spoke has another group, kind, plural or scope than the hub, or a version twice
 *
 * @example
 * ```ts
 * const kind = { group: "example.com", kind: "Page" }
 * const v1 = CustomResource.make({ ...kind, version: "v1", spec: Schema.Struct({ host: Schema.String }) })
 * const v2 = CustomResource.make({ ...kind, version: "v2", spec: Schema.Struct({ hosts: Schema.Array(Schema.String) }) })
 * const Page = Conversion.between(
 *   v2,
 *   Conversion.spoke(v2, v1, {
 *     toHub: ({ spec }) => ({ spec: spec.host === undefined ? {} : { hosts: [spec.host] } }),
 *     fromHub: ({ spec }) => ({ spec: spec.hosts === undefined ? {} : { host: spec.hosts[0] ?? "" } })
 *   })
 * )
 * Page.version // => "v2"
 * ```
 */
export const between = <Spec, Encoded, Status>(
  hub: CustomResource.CustomResource<Spec, Encoded, Status>,
  ...spokes: ReadonlyArray<CustomResource.Spoke>
): CustomResource.CustomResource<Spec, Encoded, Status> => {
  const refuse = (field: string, problem: string, fix: string): never => {
    throw new InvalidDefinition({ kind: hub.kind, field, problem, fix })
  }
  const versions = [hub.version]
  for (const { resource } of spokes) {
    for (const field of ["group", "kind", "plural", "namespaced"] as const) {
      if (resource[field] !== hub[field]) {
        refuse(
          `${field} of ${resource.version}`,
          `${resource[field]} is not ${hub[field]}`,
          "Use the same in all versions"
        )
      }
    }
    if (versions.includes(resource.version))
      refuse("version", `${resource.version} exists twice`, "Give each version once")
    versions.push(resource.version)
  }
  // The definition compiles its schema at the first read, so the copy keeps its getters.
  const definition = Object.defineProperties(
    {},
    { ...Object.getOwnPropertyDescriptors(hub.definition), spokes: { value: spokes, enumerable: true } }
  ) as CustomResource.Definition
  return Object.assign(Object.create(Object.getPrototypeOf(hub)), hub, { definition })
}

/**
 * Converts an object of any version of a kind to another one. Failure: the error, in one line.
 *
 * @internal
 */
export const convert = (
  kind: CustomResource.Any,
  object: KubernetesObject,
  desired: string
): Result.Result<KubernetesObject, string> => {
  if (object.apiVersion === desired) return Result.succeed(object)
  const step = (
    apiVersion: string | undefined,
    apply: (spoke: CustomResource.Spoke) => Result.Result<KubernetesObject, string>,
    same: () => KubernetesObject
  ): Result.Result<KubernetesObject, string> => {
    if (apiVersion === apiVersionOf(kind)) return Result.succeed(same())
    const found = kind.definition.spokes.find(({ resource }) => apiVersionOf(resource) === apiVersion)
    return found === undefined
      ? Result.fail(`unknown version of ${kind.kind}: ${apiVersion} (must be one of ${versionsOf(kind).join(", ")})`)
      : apply(found)
  }
  return Result.flatMap(
    step(
      object.apiVersion,
      ({ toHub }) => toHub(object),
      () => object
    ),
    (stored) =>
      step(
        desired,
        ({ fromHub }) => fromHub(stored),
        () => stored
      )
  )
}

/**
 * The API versions of a kind, the hub first.
 *
 * @internal
 */
export const versionsOf = (kind: CustomResource.Any): ReadonlyArray<string> => [
  apiVersionOf(kind),
  ...kind.definition.spokes.map(({ resource }) => apiVersionOf(resource))
]
