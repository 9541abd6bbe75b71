import { describe, expect, test } from "bun:test"
import * as Restricted from "./Restricted.ts"

const safe = { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } }
const pod = { seccompProfile: { type: "RuntimeDefault" }, runAsNonRoot: true }

/** The security contexts of the containers. */
const contextsOf = (...contexts: ReadonlyArray<object>) => {
  const containers = contexts.map((securityContext, at) => ({ name: at === 0 ? "app" : `other${at}`, securityContext }))
  return Restricted.of({ containers }, "app").containers.map(({ securityContext }) => securityContext)
}

describe("security: Restricted", () => {
  test("replaces the settings of the pod and of the container with the image", () => {
    const bad = {
      privileged: true,
      allowPrivilegeEscalation: true,
      runAsNonRoot: false,
      capabilities: { add: ["SYS_ADMIN"], drop: [] },
      seccompProfile: { type: "Unconfined" }
    }
    expect(contextsOf(bad)).toEqual([safe])
    const { securityContext } = Restricted.of(
      { containers: [], securityContext: { runAsNonRoot: false, seccompProfile: { type: "Unconfined" } } },
      "app"
    )
    expect(securityContext).toEqual(pod)
  })

  test("keeps the other settings, and those that the standard accepts", () => {
    const seccompProfile = { type: "Localhost", localhostProfile: "a.json" }
    const kept = { runAsUser: 1000, readOnlyRootFilesystem: true, seccompProfile }
    const bind = { capabilities: { add: ["NET_BIND_SERVICE"] } }
    expect(contextsOf({ ...kept, ...bind })).toEqual([
      { ...kept, allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"], add: ["NET_BIND_SERVICE"] } }
    ])
    const { securityContext } = Restricted.of(
      { containers: [], securityContext: { fsGroup: 1, seccompProfile } },
      "app"
    )
    expect(securityContext).toEqual({ fsGroup: 1, seccompProfile, runAsNonRoot: true })
  })

  test("is the default of the other containers, unless they have privileges", () => {
    const mesh = { capabilities: { add: ["NET_ADMIN"] } }
    const own = { allowPrivilegeEscalation: true, capabilities: { drop: ["KILL"] } }
    expect(contextsOf({}, {}, mesh, { privileged: true }, own)).toEqual([safe, safe, mesh, { privileged: true }, own])
    const { initContainers } = Restricted.of({ containers: [], initContainers: [{ name: "wait" }] }, "app")
    expect(initContainers).toEqual([{ name: "wait", securityContext: safe }])
  })

  test("keeps what is not a container, which the API server reports", () => {
    const spec = JSON.parse('{"containers":[null,5],"initContainers":"x"}')
    expect(Restricted.of(spec, "app")).toMatchObject(spec)
  })
})
