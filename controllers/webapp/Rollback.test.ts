import { describe, expect, test } from "bun:test"
import type { ControllerRevision, Deployment } from "@homeostat/runtime/resource/BuiltIn"
import { desiredDeployment, labelsOf, templateOf } from "./children.ts"
import * as Rollback from "./Rollback.ts"
import type { WebApp } from "./WebApp.ts"

const metadata = { name: "shop", namespace: "default", uid: "u", resourceVersion: "1", creationTimestamp: "" }
const now = Date.parse("2026-11-28T12:00:00Z")

const appOf = (spec: Partial<WebApp["spec"]>, generation = 1): WebApp => ({
  metadata: { ...metadata, generation },
  spec: { image: "web:1", replicas: 2, port: 8080, rollback: "Auto", ...spec }
})

const choose = (app: WebApp, existing?: Deployment, revisions: ReadonlyArray<ControllerRevision> = []) =>
  Rollback.choose(app, {
    existing,
    revisions,
    template: templateOf(app, "app", existing),
    labels: labelsOf(app),
    container: "app",
    pods: [],
    troubleOf: () => "it crashes",
    now
  })

type Status = NonNullable<Deployment["status"]>

const complete: Status = { observedGeneration: 1, replicas: 2, updatedReplicas: 2, availableReplicas: 2 }

const missed = (lastUpdateTime: string): Status => ({
  observedGeneration: 1,
  replicas: 3,
  updatedReplicas: 1,
  availableReplicas: 2,
  conditions: [{ type: "Progressing", status: "False", reason: "ProgressDeadlineExceeded", lastUpdateTime }]
})

/** The Deployment after the choice was applied, with a status. */
const applied = (app: WebApp, rollback: Rollback.Choice, status: Status = {}): Deployment => {
  const desired = desiredDeployment(app, rollback)
  const { selector = {}, template = {}, ...spec } = desired.spec ?? {}
  const ownerReferences = [{ apiVersion: "", kind: "WebApp", name: "shop", uid: "u", controller: true }]
  return {
    metadata: { ...metadata, ...desired.metadata, generation: 1, ownerReferences },
    spec: { ...spec, selector, template },
    status
  }
}

const stored = ({ revision }: Rollback.Choice): ReadonlyArray<ControllerRevision> =>
  revision === undefined ? [] : [{ ...revision, metadata: { ...metadata, name: "", ...revision.metadata } }]

const first = appOf({})
const running = applied(first, choose(first), complete)
const good = stored(choose(first, running))

const second = appOf({ image: "web:2" }, 2)
const failing = applied(second, choose(second, running, good), missed("12:00"))
const failed = stored(choose(second, failing, good))

const imageOf = ({ template }: Rollback.Choice) => template.spec?.containers[0]?.image

describe("a rollout is good", () => {
  const data = { generation: 1, image: "web:1", time: "2026-11-28T12:00:00Z" }

  test("when all pods are available, and its template is stored", () => {
    const { lastGood, revision } = choose(first, running)
    expect(lastGood).toBeUndefined()
    expect(choose(first, running, good).lastGood).toEqual(data)
    expect(revision?.data).toEqual({ ...data, template: running.spec?.template })
    expect(revision?.metadata.name).toBe(`shop-${running.metadata.annotations?.[Rollback.templateKey]}`)
  })

  test("also if the API server stores another notation of a value", () => {
    const app = appOf({ resources: { limits: { cpu: "1000m" } } })
    const existing = applied(app, choose(app), complete)
    const text = JSON.stringify(existing).replace('"1000m"', '"1"')
    expect(choose(app, JSON.parse(text)).revision).toBeDefined()
  })

  test("also if the API server drops a value that is the default", () => {
    const defaults = { hostNetwork: false, priority: null, hostname: "" }
    const app = appOf({ podTemplate: { spec: defaults } })
    const existing = applied(app, choose(app), complete)
    const text = JSON.stringify(existing, (key, value) => (Object.hasOwn(defaults, key) ? undefined : value))
    expect(choose(app, JSON.parse(text)).revision).toBeDefined()
  })

  for (const [title, existing] of [
    ["before all pods are available", { ...running, status: { ...complete, availableReplicas: 1 } }],
    ["before the status is of this generation", { ...running, metadata: { ...running.metadata, generation: 2 } }],
    ["without pods", applied(appOf({ replicas: 0 }), choose(first), { observedGeneration: 1, replicas: 0 })],
    ["if another client changed the image", JSON.parse(JSON.stringify(running).replace("web:1", "web:0"))],
    ["if another WebApp owns the Deployment", { ...running, metadata: { ...running.metadata, ownerReferences: [] } }]
  ] as const) {
    test(`not ${title}`, () => {
      expect(choose(first, existing).revision).toBeUndefined()
    })
  }

  test("not without rollback: Auto", () => {
    expect(choose(appOf({ rollback: "None" }), running).revision).toBeUndefined()
  })

  test("once: later reconciles do not change what is stored", () => {
    expect(choose(appOf({ replicas: 3 }, 7), running, good).revision).toEqual(choose(first, running).revision)
  })
})

describe("a rollout that missed its deadline", () => {
  test("is first recorded with its cause, and the template stays", () => {
    const choice = choose(second, failing, good)
    expect(imageOf(choice)).toBe("web:2")
    expect(choice.rolledBack).toBeUndefined()
    expect(JSON.parse(choice.revision?.metadata.annotations?.[Rollback.failedAnnotation] ?? "")).toEqual({
      template: failing.metadata.annotations?.[Rollback.templateKey],
      generation: 2,
      image: "web:2",
      cause: "it crashes"
    })
  })

  test("is also recorded if kube-controller-manager reports nothing about the template", () => {
    const lastTransitionTime = "2026-11-28T11:00:00Z"
    const quota = { type: "ReplicaFailure", status: "True", message: "exceeded quota", lastTransitionTime }
    const before = { type: "Progressing", status: "True", reason: "NewReplicaSetAvailable" }
    const stuck = (lastUpdateTime: string) =>
      applied(second, choose(second, running, good), {
        observedGeneration: 1,
        conditions: [{ ...before, lastUpdateTime }, quota]
      })
    const recorded = (existing: Deployment, seconds: number, troubleOf: () => string | undefined = () => undefined) => {
      const template = templateOf(second, "app", existing)
      const options = { existing, revisions: good, template, labels: labelsOf(second), container: "app", pods: [] }
      const choice = Rollback.choose(second, { ...options, troubleOf, now: now + seconds * 1000 })
      return choice.revision?.metadata.annotations?.[Rollback.failedAnnotation]
    }
    expect(recorded(stuck("2026-11-28T11:59:59Z"), 604)).toBeUndefined()
    expect(recorded(stuck("2026-11-28T11:59:59Z"), 605)).toContain('"cause":"exceeded quota"')
    expect(recorded(stuck("2026-11-28T11:59:59Z"), 605, () => "it crashes")).toContain('"cause":"it crashes"')
    expect(recorded(stuck("2026-11-28T12:00:00Z"), 605)).toBeUndefined()
  })

  test("brings the last good template back once it is recorded, also without a Deployment", () => {
    for (const existing of [failing, undefined]) {
      const choice = choose(second, existing, failed)
      expect(choice.template).toEqual(running.spec?.template ?? {})
      expect(choice.rolledBack).toEqual({
        reason: "ProgressDeadlineExceeded",
        message:
          "generation 2 (web:2) missed its progress deadline: it crashes; the controller restored generation 1 (web:1) (change the pod template in spec to try again)"
      })
    }
  })

  test("stays rolled back when the replicas change, and when the last good template fails", () => {
    const restored = choose(second, failing, failed)
    const app = appOf({ image: "web:2", replicas: 5 }, 3)
    for (const status of [complete, missed("12:30")]) {
      const choice = choose(app, applied(app, restored, status), failed)
      expect(imageOf(choice)).toBe("web:1")
      expect(choice.revision).toEqual(restored.revision)
    }
  })

  test("is forgotten when the pod template of the spec changes", () => {
    const third = appOf({ image: "web:3" }, 3)
    const choice = choose(third, failing, failed)
    expect(imageOf(choice)).toBe("web:3")
    expect(choice.revision?.metadata.annotations).toEqual({})
    expect(imageOf(choose(second, running, stored(choice)))).toBe("web:2")
  })

  for (const [title, existing, revisions] of [
    ["while it is paused", { ...failing, spec: { selector: {}, template: {}, ...failing.spec, paused: true } }, good],
    ["without a last good rollout", failing, []],
    ["if the last good one fails", { ...running, status: missed("12:00") }, good]
  ] as const) {
    test(`changes nothing ${title}`, () => {
      const app = existing.spec?.template?.spec?.containers[0]?.image === "web:1" ? first : second
      const choice = choose(app, existing, revisions)
      expect(choice.revision?.metadata.annotations ?? {}).toEqual({})
      expect(choice.rolledBack).toBeUndefined()
    })
  }

  test("is not blamed for a deadline that an earlier template missed", () => {
    const third = appOf({ image: "web:3", replicas: 4 }, 3)
    const choice = choose(third, failing, good)
    expect(choice.annotations[Rollback.missedAnnotation]).toBe("12:00")
    const stale = choose(third, applied(third, choice, missed("12:00")), good)
    expect(stale.revision?.metadata.annotations).toEqual({})
    expect(stale.annotations[Rollback.missedAnnotation]).toBe("12:00")
    const own = choose(third, applied(third, choice, missed("12:10")), good)
    expect(own.revision?.metadata.annotations?.[Rollback.failedAnnotation]).toContain("web:3")
  })

  test("keeps its annotations when its status is observed, because their change makes the status old again", () => {
    const third = appOf({ image: "web:3", replicas: 4 }, 3)
    const choice = choose(third, failing, good)
    for (const observedGeneration of [0, 1]) {
      const existing = applied(third, choice, { ...complete, observedGeneration, updatedReplicas: 1 })
      expect(choose(third, existing, good).annotations).toEqual(choice.annotations)
    }
  })

  test("is left to the controller of a delivery", () => {
    const annotations = { "apps.kubedojo.io/replicas-managed-by": "flagger" }
    const app = { ...second, metadata: { ...second.metadata, annotations } }
    expect(choose(app, failing, failed).rolledBack).toBeUndefined()
  })
})

test("A stored template of another container is ignored", () => {
  const other: ReadonlyArray<ControllerRevision> = JSON.parse(
    JSON.stringify(failed).replaceAll('"name":"app"', '"name":"web"')
  )
  expect(imageOf(choose(second, failing, other))).toBe("web:2")
  expect(JSON.stringify(other)).not.toBe(JSON.stringify(failed))
})

describe("kubectl rollout undo", () => {
  const updated = applied(second, choose(second, running), complete)
  /** The template and the annotations of an older ReplicaSet. */
  const undone: Deployment = {
    ...updated,
    metadata: { ...updated.metadata, annotations: running.metadata.annotations ?? {} },
    spec: { selector: {}, ...updated.spec, template: running.spec?.template ?? {} }
  }

  test("keeps its template, and stays when the replicas change", () => {
    const choice = choose(second, undone)
    expect(choice.template).toEqual(running.spec?.template ?? {})
    expect(choice.rolledBack?.reason).toBe("RolloutUndone")
    const scaled = appOf({ image: "web:2", replicas: 5 }, 3)
    expect(choose(scaled, applied(scaled, choice)).rolledBack?.reason).toBe("RolloutUndone")
  })

  test("ends with a change of the pod template, whose fields replace all of the old one", () => {
    const third = appOf({ image: "web:3" }, 3)
    const choice = choose(third, undone)
    expect([imageOf(choice), choice.endsUndo]).toEqual(["web:3", true])
    expect(choose(third, applied(third, choice)).endsUndo).toBe(false)
  })

  test("ends with another undo that returns to the template of the spec", () => {
    expect(choose(second, updated)).toMatchObject({ endsUndo: false })
    expect(choose(second, updated).rolledBack).toBeUndefined()
  })

  test("also replaces a template that the controller restored", () => {
    const restored = applied(second, choose(second, failing, failed), complete)
    const { annotations = {} } = failing.metadata
    const again = {
      ...restored,
      metadata: { ...restored.metadata, annotations },
      spec: failing.spec ?? { selector: {}, template: {} }
    }
    expect(imageOf(choose(second, again, failed))).toBe("web:2")
    expect(choose(second, again, failed).rolledBack?.reason).toBe("RolloutUndone")
  })

  test("is not what removes only the annotation", () => {
    const stripped = { ...updated, metadata: { ...updated.metadata, annotations: {} } }
    expect(choose(second, stripped).rolledBack).toBeUndefined()
    const { [Rollback.templateKey]: id } = choose(second, updated).annotations
    expect(choose(second, stripped).annotations).toEqual({ [Rollback.templateKey]: id ?? "" })
  })
})

describe("the finding about a Deployment that was rolled back", () => {
  const rolledBack = { reason: "ProgressDeadlineExceeded", message: "it failed" } as const
  for (const [reason, message, expected] of [
    ["AllReplicasReady", "2/2 ready", ["RolledBack", "2/2 ready: it failed"]],
    ["RolloutInProgress", "1/2 ready: 1 of 2 pods", ["RolledBack", "1/2 ready: it failed"]],
    ["ImagePullFailed", "0/2 ready: gone", ["ImagePullFailed", "0/2 ready: gone; it failed"]]
  ] as const) {
    test(`${reason} is not a success`, () => {
      const found = Rollback.finding({ status: "True", reason, message }, rolledBack)
      expect([found.reason, found.message]).toEqual([...expected])
      expect(found).toMatchObject({ status: "False", stalled: true })
    })
  }
})
