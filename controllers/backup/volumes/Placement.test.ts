import { describe, expect, test } from "bun:test"
import * as Result from "effect/Result"
import { claim, pod, podSpec } from "./Claims.fixture.ts"
import * as Placement from "./Placement.ts"
import type * as Usage from "./Usage.ts"
import * as VolumeClaim from "./VolumeClaim.ts"

const volume = (name: string, ...accessModes: ReadonlyArray<string>) =>
  VolumeClaim.make(claim(name, accessModes.length === 0 ? {} : { accessModes }))

/** A claim that a pod of a workload mounts with all others of the same `together`. */
const part = (name: string, together: string, template?: Usage.User) =>
  VolumeClaim.make(claim(name), { together, template })

const shared = (name: string) => volume(name, "ReadWriteMany")

const place = (options: Omit<Placement.Options, "pods"> & Partial<Placement.Options>) =>
  Result.getOrThrowWith(Placement.place({ pods: [], ...options }), ({ message }) => new Error(message))

/** Each group as its node and its claims. */
const places = (options: Parameters<typeof place>[0]) =>
  place(options).map(({ claims, node }) => [node ?? "anywhere", ...claims.map(({ name }) => name)])

const using = (
  name: string,
  claimName: string,
  options: Parameters<typeof pod>[2] = {},
  spec: Partial<Usage.PodSpec> = {}
) => pod(name, podSpec({ data: claimName }, spec), options)

describe("Placement runs the mover", () => {
  test("on the node of the pod that uses the volume, if only one node can mount it", () => {
    expect(places({ claims: [volume("x")], pods: [using("app", "x", { node: "node-b" })] })).toEqual([["node-b", "x"]])
    expect(
      places({
        claims: [volume("x", "ReadWriteOnce", "ReadOnlyMany")],
        pods: [using("app", "x", { node: "node-b" })]
      })
    ).toEqual([["node-b", "x"]])
  })
  const anywhere: ReadonlyArray<readonly [string, VolumeClaim.VolumeClaim, ReturnType<typeof using> | undefined]> = [
    ["if the volume is unused", volume("x"), using("app", "y")],
    ["if many nodes can mount the volume", shared("x"), using("app", "x")],
    ["if many nodes can read the volume", volume("x", "ReadOnlyMany"), using("app", "x")],
    ["if the pod of the volume has finished", volume("x"), using("app", "x", { phase: "Succeeded" })],
    ["if the pod of the volume is not scheduled", volume("x"), using("app", "x", { node: "", phase: "Pending" })],
    ["if only a mover uses the volume", volume("x"), using("app", "x", { mover: true })]
  ]
  for (const [when, one, user] of anywhere) {
    test(`on any node ${when}`, () => {
      expect(places({ claims: [one], pods: user === undefined ? [] : [user] })).toEqual([["anywhere", "x"]])
    })
  }
  test("on the node of the new pod while the old pod terminates", () => {
    const pods = [using("a", "x", { node: "node-a", deleted: true }), using("b", "x", { node: "node-b" })]
    expect(places({ claims: [volume("x")], pods })).toEqual([["node-b", "x"]])
    expect(places({ claims: [volume("x")], pods: pods.slice(0, 1) })).toEqual([["node-a", "x"]])
  })
  test("once per node, for all volumes in use there", () => {
    const pods = [using("a", "x"), using("b", "x"), using("c", "y"), using("d", "z", { node: "node-b" })]
    expect(places({ claims: [volume("x"), volume("y"), volume("z")], pods })).toEqual([
      ["node-a", "x", "y"],
      ["node-b", "z"]
    ])
  })
})

describe("Placement groups unused volumes", () => {
  test("that one pod mounts together, because others may be in different zones", () => {
    const claims = [
      part("data-db-0", "db-0"),
      part("data-db-1", "db-1"),
      part("wal-db-0", "db-0"),
      volume("z")
    ] as const
    expect(places({ claims })).toEqual([
      ["anywhere", "data-db-0", "wal-db-0", "z"],
      ["anywhere", "data-db-1"]
    ])
  })
  test("with the used volumes of the same pod", () => {
    const claims = [part("data-db-0", "db-0"), part("data-db-1", "db-1"), part("wal-db-1", "db-1")] as const
    expect(places({ claims, pods: [using("db-1", "data-db-1", { node: "node-c" })] })).toEqual([
      ["node-c", "data-db-1", "wal-db-1"],
      ["anywhere", "data-db-0"]
    ])
  })
  test("that every node can mount with any other volumes", () => {
    const claims = [shared("a"), volume("b"), volume("c")] as const
    expect(places({ claims: [shared("a"), volume("b", "ReadOnlyMany")] })).toEqual([["anywhere", "a", "b"]])
    const modes = { accessModes: ["ReadWriteMany"] }
    const parts = [
      VolumeClaim.make(claim("a", modes), { together: "0" }),
      VolumeClaim.make(claim("b", modes), { together: "1" })
    ]
    expect(places({ claims: [shared("c"), ...parts] })).toEqual([["anywhere", "c", "a", "b"]])
    expect(places({ claims, pods: [using("p", "b", { node: "node-b" }), using("q", "c")] })).toEqual([
      ["node-a", "a", "c"],
      ["node-b", "b"]
    ])
  })
})

const nobody = { runAsUser: 65_532, runAsGroup: 65_532 }

describe("Placement runs the mover as", () => {
  const as = (
    securityContext: Usage.PodSpec["securityContext"],
    container: NonNullable<Usage.PodSpec["containers"][number]["securityContext"]> = {}
  ): Usage.PodSpec => {
    const spec = podSpec({ data: "x" })
    return {
      ...spec,
      ...(securityContext !== undefined && { securityContext }),
      containers: [
        { name: "sidecar", securityContext: { runAsUser: 7 } },
        ...spec.containers.map((one) => ({ ...one, securityContext: container }))
      ]
    }
  }
  const full = { runAsUser: 1000, runAsGroup: 2000, fsGroup: 3000, supplementalGroups: [4000] }
  const table: ReadonlyArray<readonly [string, Usage.PodSpec, Placement.Security]> = [
    ["the user, group, volume group and other groups of the pod", as(full), full],
    ["the user of the container that mounts it", as(full, { runAsUser: 1001 }), { ...full, runAsUser: 1001 }],
    ["the group of the container that mounts it", as(full, { runAsGroup: 0 }), { ...full, runAsGroup: 0 }],
    ["the user of the pod, with the group of the image", as({ runAsUser: 1000 }), { runAsUser: 1000 }],
    ["user 65532, if only the image sets the user", as(undefined), nobody],
    [
      "user 65532 with the fsGroup of the pod, if the pod is root",
      as({ runAsUser: 0, fsGroup: 3000 }),
      { ...nobody, fsGroup: 3000 }
    ],
    [
      "user 65532 with the group of the pod, if the pod is root",
      as({ runAsUser: 0, runAsGroup: 5 }),
      { runAsUser: 65_532, runAsGroup: 5 }
    ],
    ["user 65532, if the container is root", as({ runAsUser: 1000 }, { runAsUser: 0 }), nobody]
  ]
  for (const [who, spec, security] of table) {
    test(who, () => {
      expect(place({ claims: [volume("x")], pods: [pod("app", spec)] })[0].security).toEqual(security)
    })
  }
  test("the user of the pod, if none of its containers mounts the volume", () => {
    const spec = { ...as({ runAsUser: 1000 }), containers: [{ name: "app", securityContext: { runAsUser: 7 } }] }
    expect(place({ claims: [volume("x")], pods: [pod("app", spec)] })[0].security).toEqual({ runAsUser: 1000 })
  })
  test("the user of the first pod that is not root", () => {
    const pods = [pod("a", as({ runAsUser: 0 })), pod("b", as({ runAsUser: 1000 })), pod("c", as({ runAsUser: 1001 }))]
    expect(place({ claims: [volume("x")], pods })[0].security).toEqual({ runAsUser: 1000 })
  })
  test("the user of the workload's template, if the workload has no pods", () => {
    const template = { spec: as({ runAsUser: 1000 }), volume: "data" }
    expect(place({ claims: [part("x", "db-0", template)] })[0].security).toEqual({ runAsUser: 1000 })
    const pods = [pod("app", as({ runAsUser: 1001 }))]
    expect(place({ claims: [part("x", "db-0", template)], pods })[0].security).toEqual({ runAsUser: 1001 })
  })
  test("the fallback of the caller or user 65532, if no pod uses the volume", () => {
    expect(place({ claims: [volume("x")] })[0].security).toEqual(nobody)
    expect(place({ claims: [volume("x")], fallback: { runAsUser: 5 } })[0].security).toEqual({ runAsUser: 5 })
  })
  test("the user of the spec, field by field", () => {
    const pods = [pod("app", as(full))]
    expect(place({ claims: [volume("x")], pods, security: { runAsUser: 0, fsGroup: 1 } })[0].security).toEqual({
      ...full,
      runAsUser: 0,
      fsGroup: 1
    })
    expect(place({ claims: [volume("x")], security: { supplementalGroups: [9] } })[0].security).toEqual({
      ...nobody,
      supplementalGroups: [9]
    })
  })
  test("user 65532, if only pods of other groups have a known user", () => {
    const pods = [using("a", "y", {}, { securityContext: { runAsUser: 1000 } })]
    const groups = place({ claims: [part("x", "db-0"), volume("y")], pods })
    expect(groups.map(({ node, security }) => [node, security.runAsUser])).toEqual([
      ["node-a", 1000],
      [undefined, 65_532]
    ])
  })
  test("a user for each volume, in several pods if the users differ", () => {
    const claims = [volume("x"), volume("y"), volume("z")] as const
    const pods = [
      using("a", "x", {}, { securityContext: { runAsUser: 1000 } }),
      using("b", "y", {}, { securityContext: { runAsUser: 2000 } })
    ]
    expect(
      place({ claims, pods }).map(({ claims, node, security }) => [
        node,
        security.runAsUser,
        ...claims.map(({ name }) => name)
      ])
    ).toEqual([
      ["node-a", 1000, "x", "z"],
      ["node-a", 2000, "y"]
    ])
    expect(places({ claims, pods, security: { runAsUser: 3000 } })).toEqual([["node-a", "x", "y", "z"]])
  })
})

describe("Placement copies the tolerations", () => {
  const gpu = { key: "gpu", operator: "Exists", effect: "NoSchedule" }
  const spot = { key: "spot", operator: "Equal", value: "yes" }
  test("of each pod that uses the volumes, once", () => {
    const pods = [
      using("a", "x", {}, { tolerations: [gpu] }),
      using("b", "y", {}, { tolerations: [gpu, spot] }),
      using("c", "other", {}, { tolerations: [{ operator: "Exists" }] })
    ]
    expect(place({ claims: [volume("x"), volume("y")], pods })[0].tolerations).toEqual([gpu, spot])
  })
  test("of each pod that uses the destination, if the mover needs its node", () => {
    const options = { claims: [volume("x")] as const, pods: [using("a", "repo", {}, { tolerations: [gpu] })] }
    expect(place({ ...options, destination: volume("repo") })[0].tolerations).toEqual([gpu])
    expect(place({ ...options, destination: shared("repo") })[0].tolerations).toEqual([])
  })
})

describe("A destination volume", () => {
  const claims = [volume("x"), volume("y")] as const
  test("does not restrict the node of the mover while it is unused", () => {
    expect(
      places({
        claims,
        destination: volume("repo"),
        pods: [using("a", "x", { node: "node-a" }), using("b", "y", { node: "node-b" })]
      })
    ).toEqual([
      ["node-a", "x"],
      ["node-b", "y"]
    ])
  })
  test("moves every mover to the node of the pod that uses it", () => {
    const pods = [using("r", "repo", { node: "node-r" })]
    expect(places({ claims, destination: volume("repo"), pods })).toEqual([["node-r", "x", "y"]])
    expect(places({ claims, destination: shared("repo"), pods })).toEqual([["anywhere", "x", "y"]])
    expect(
      places({ claims, destination: volume("repo"), pods: [...pods, using("a", "x", { node: "node-r" })] })
    ).toEqual([["node-r", "x", "y"]])
  })
  test("is rejected if a saved volume is in use on another node", () => {
    const pods = [using("r", "repo", { node: "node-r" }), using("b", "y", { node: "node-b" })]
    expect(Placement.place({ claims, destination: volume("repo"), pods })).toEqual(
      Result.fail({
        reason: "VolumeInUse",
        message:
          "PersistentVolumeClaim y is in use on node node-b, and PersistentVolumeClaim repo of spec.destination on node node-r. No pod can mount both (run their pods on one node, or keep the repository in a volume of its own)"
      })
    )
  })
  test("is writable by the group of the mover", () => {
    const destination = volume("repo")
    const security = (options: Partial<Placement.Options>) => place({ claims, destination, ...options })[0].security
    expect(security({})).toEqual({ ...nobody, fsGroup: 65_532 })
    expect(security({ security: { fsGroup: 5 } })).toEqual({ ...nobody, fsGroup: 5 })
    expect(security({ fallback: { runAsUser: 1, runAsGroup: 2 } })).toEqual({ runAsUser: 1, runAsGroup: 2, fsGroup: 2 })
  })
  test("is written with the group of the pods that use it", () => {
    const theirs = { securityContext: { runAsUser: 7, fsGroup: 70 } }
    const ours = { securityContext: { runAsUser: 1000, fsGroup: 3000 } }
    const destination = shared("repo")
    const security = (pods: Placement.Options["pods"], options: Partial<Placement.Options> = {}) =>
      place({ claims, destination, pods: [using("r", "repo", {}, theirs), ...pods], ...options })[0].security
    expect(security([])).toEqual({ ...nobody, fsGroup: 70 })
    expect(security([using("a", "x", {}, ours)])).toEqual({ runAsUser: 1000, fsGroup: 70, supplementalGroups: [3000] })
    expect(security([using("a", "x", {}, theirs)])).toEqual({ runAsUser: 7, fsGroup: 70 })
    expect(security([], { security: { fsGroup: 5 } })).toEqual({ ...nobody, fsGroup: 5, supplementalGroups: [70] })
    expect(security([], { keepsGroup: true })).toEqual({ ...nobody, supplementalGroups: [70] })
    expect(security([], { keepsGroup: true, security: { supplementalGroups: [1, 70] } })).toEqual({
      ...nobody,
      supplementalGroups: [1, 70]
    })
    expect(
      Placement.alone(destination, { pods: [using("r", "repo", {}, theirs)], security: nobody, wanted: undefined })
    ).toEqual({ node: undefined, tolerations: [], security: { ...nobody, fsGroup: 70 } })
  })
  test("is mounted by a restore without a change of the fsGroup", () => {
    const security = (options: Partial<Placement.Options>) =>
      place({ claims, destination: volume("repo"), keepsGroup: true, ...options })[0].security
    expect(security({})).toEqual({ ...nobody, supplementalGroups: [65_532] })
    expect(security({ security: { fsGroup: 5 } })).toEqual({ ...nobody, fsGroup: 5 })
  })
})

test("Placement puts each claim into exactly one group", () => {
  const claims = [shared("a"), part("b", "0"), part("c", "1"), part("d", "1"), volume("e")] as const
  for (let mask = 0; mask < 3 ** 5; mask++) {
    const pods = claims.flatMap(({ name }, index) => {
      const digit = Math.floor(mask / 3 ** index) % 3
      return digit === 0 ? [] : [using(`p${index}`, name, { node: `node-${digit}` })]
    })
    const groups = place({ claims, pods })
    expect(groups.flatMap((group) => group.claims.map(({ name }) => name)).sort()).toEqual(["a", "b", "c", "d", "e"])
    // A claim for one node is on the node of its pod.
    for (const { claims, node } of groups) {
      for (const { name } of claims) {
        const user = pods.find(({ spec }) => spec?.volumes?.[0]?.persistentVolumeClaim?.claimName === name)
        if (user !== undefined && name !== "a") expect(node).toBe(user.spec?.nodeName)
      }
    }
  }
})

test("Placement.withGroup takes the configured fsGroup, else the group of the mover, else 65532", () => {
  expect(Placement.withGroup({ runAsUser: 1, fsGroup: 5, runAsGroup: 2 }).fsGroup).toBe(5)
  expect(Placement.withGroup({ runAsUser: 1, runAsGroup: 2 }).fsGroup).toBe(2)
  expect(Placement.withGroup({ runAsUser: 1 }).fsGroup).toBe(65_532)
})
