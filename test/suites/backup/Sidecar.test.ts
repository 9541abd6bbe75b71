/** Movers beside a sidecar that does not end, as a mesh adds it to each pod of a namespace. */
import { expect } from "bun:test"
import { Backup } from "@homeostat/backup/kinds/Backup"
import { Restore } from "@homeostat/backup/kinds/Restore"
import * as Client from "@homeostat/runtime/client/Client"
import type { Desired, KubernetesObject } from "@homeostat/runtime/resource/KubernetesObject"
import * as Resource from "@homeostat/runtime/resource/Resource"
import { Effect } from "effect"
import * as Claims from "./Claims.ts"
import * as PretendedMover from "./PretendedMover.ts"
import * as TwoNodes from "./TwoNodes.ts"
import * as Virtual from "./Virtual.ts"

type Specified = KubernetesObject & { readonly spec: object }

const policy = (kind: string, plural: string) =>
  Resource.make<Specified, Desired<Specified>>({
    group: "admissionregistration.k8s.io",
    version: "v1",
    kind,
    plural,
    namespaced: false
  })

/** From now on, each pod of a mover gets a sidecar that does not end. */
const addSidecars = (world: Virtual.Virtual) =>
  Effect.gen(function* () {
    world.movers((mover) => ({ containers: { mover: PretendedMover.succeeds(mover) } }))
    const metadata = { name: "mesh" }
    yield* Client.create(policy("MutatingAdmissionPolicy", "mutatingadmissionpolicies"), {
      metadata,
      spec: {
        failurePolicy: "Fail",
        reinvocationPolicy: "Never",
        matchConstraints: {
          resourceRules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["pods"] }]
        },
        mutations: [
          {
            patchType: "JSONPatch",
            jsonPatch: {
              expression: `[JSONPatch{op: "add", path: "/spec/containers/-", value: Object.spec.containers{name: "mesh", image: "mesh"}}]`
            }
          }
        ]
      }
    })
    yield* Client.create(policy("MutatingAdmissionPolicyBinding", "mutatingadmissionpolicybindings"), {
      metadata,
      spec: { policyName: "mesh" }
    })
  })

Virtual.test("A run of several Jobs saves all volumes beside a sidecar, and ends each Job", (world) =>
  Effect.gen(function* () {
    yield* TwoNodes.apart(world)
    yield* Virtual.secret("web", {
      RESTIC_PASSWORD: "correct horse",
      AWS_ACCESS_KEY_ID: "key",
      AWS_SECRET_ACCESS_KEY: "secret"
    })
    yield* world.manage()
    yield* addSidecars(world)
    yield* Virtual.create("web", { source: "deployment/web", destination: "s3://bucket", repository: {} })
    yield* Virtual.rests("web")
    expect(world.saving().map(({ claims }) => claims.join())).toEqual(["left", "right"])
    expect(yield* Virtual.status("web")).toMatchObject({
      phase: "Completed",
      message: "2 volumes saved",
      lastRun: { reason: "Succeeded", snapshots: [{ pvc: "left" }, { pvc: "right" }] }
    })
    yield* world.pass("2 minutes")
    expect(yield* Virtual.jobs).toEqual([])
    expect(world.eventReasons("web")).toEqual(["BackupScheduled", "BackupStarted", "BackupCompleted"])
  })
)

Virtual.test("A maintenance ends a minute after its mover, beside a sidecar", (world) =>
  Effect.gen(function* () {
    yield* world.manage()
    yield* addSidecars(world)
    yield* Virtual.create("shop", { retentionPolicy: "30d" })
    yield* world.pass("6 minutes")
    const { maintenance, snapshots } = yield* Virtual.status("shop")
    expect({ maintenance, snapshots }).toMatchObject({
      maintenance: { last: { reason: "Succeeded", message: "1 snapshot deleted" }, failures: 0 },
      snapshots: 3
    })
    expect(maintenance?.active).toBeUndefined()
    expect(yield* Virtual.jobs).toEqual([])
  })
)

Virtual.test("A Restore ends a minute after its mover, beside a sidecar", (world) =>
  Effect.gen(function* () {
    yield* world.manage()
    yield* Virtual.create("shop")
    yield* Virtual.rests("shop")
    yield* addSidecars(world)
    yield* Claims.bound(Virtual.namespace, "new")
    const spec = { backupRef: "shop", targetPVC: "new" }
    yield* Client.create(Restore, { metadata: Virtual.key("again"), spec })
    yield* world.pass("4 minutes")
    const { status } = yield* Client.get(Restore, Virtual.key("again"))
    expect(status).toMatchObject({ phase: "Complete", restored: { files: 2 } })
    expect((yield* Virtual.jobs).map(({ metadata }) => metadata.name)).not.toContain("again-restore")
  })
)

Virtual.test("The deletion of snapshots ends a minute after its mover, beside a sidecar", (world) =>
  Effect.gen(function* () {
    yield* world.manage()
    yield* Virtual.create("shop", { deletionPolicy: "Delete" })
    yield* Virtual.rests("shop")
    yield* addSidecars(world)
    yield* Client.delete(Backup, Virtual.key("shop"))
    yield* world.pass("5 minutes")
    expect(yield* Effect.result(Virtual.get("shop"))).toMatchObject({ _tag: "Failure", failure: { _tag: "NotFound" } })
    expect(world.eventReasons("shop")).toContain("SnapshotsDeleted")
  })
)
