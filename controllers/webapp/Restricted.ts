/** The security contexts of a WebApp with `security: Restricted`, as the Pod Security Standard of that name asks. Pure. */
import type { Deployment } from "@homeostat/runtime/resource/BuiltIn"

type PodSpec = NonNullable<NonNullable<Deployment["spec"]>["template"]["spec"]>
type Container = PodSpec["containers"][number]
type Context = NonNullable<Container["securityContext"]>

/**
 * The pod with these settings. They replace those of `spec.podTemplate` for the pod and the container with the image, and are defaults for
 * the other containers. Host namespaces and volumes stay.
 *
 * @param container the name of the container with the image
 */
export const of = (spec: PodSpec, container: string): PodSpec => {
  const { securityContext: { seccompProfile, ...context } = {} } = spec
  // A user may write anything into spec.podTemplate, and the API server reports it.
  const each = (containers: ReadonlyArray<Container | null>) =>
    containers.map((one) =>
      one === null || typeof one !== "object"
        ? one
        : { ...one, securityContext: one.name === container ? own(one.securityContext) : other(one.securityContext) }
    ) as ReadonlyArray<Container>
  return {
    ...spec,
    securityContext: {
      ...context,
      seccompProfile: seccompProfile?.type === "Localhost" ? seccompProfile : { type: "RuntimeDefault" },
      runAsNonRoot: true
    },
    containers: each(spec.containers),
    ...(Array.isArray(spec.initContainers) ? { initContainers: each(spec.initContainers) } : {})
  }
}

/** The one capability that the standard accepts. */
const accepted = "NET_BIND_SERVICE"

const own = (context: Context = {}): Context => {
  const { capabilities, privileged: _privileged, runAsNonRoot: _root, seccompProfile, ...rest } = context
  return {
    ...rest,
    ...(seccompProfile?.type === "Unconfined" || seccompProfile === undefined ? {} : { seccompProfile }),
    allowPrivilegeEscalation: false,
    capabilities: { drop: ["ALL"], ...(capabilities?.add?.includes(accepted) === true ? { add: [accepted] } : {}) }
  }
}

/** A container with privileges needs them: the API server would refuse the defaults beside some of them. */
const other = (context: Context = {}): Context =>
  context.privileged === true || (context.capabilities?.add ?? []).some((name) => name !== accepted)
    ? context
    : { allowPrivilegeEscalation: false, ...context, capabilities: { drop: ["ALL"], ...context.capabilities } }
