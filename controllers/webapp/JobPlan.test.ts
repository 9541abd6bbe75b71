import { describe, expect, test } from "bun:test"
import * as Owned from "@homeostat/runtime/controller/Owned"
import type { Deployment, Job } from "@homeostat/runtime/resource/BuiltIn"
import type { Desired, OwnerReference } from "@homeostat/runtime/resource/KubernetesObject"
import { desiredDeployment } from "./children.ts"
import * as HeldTemplate from "./HeldTemplate.ts"
import * as JobPlan from "./JobPlan.ts"
import type { Entry } from "./Jobs.ts"
import * as JobTemplate from "./JobTemplate.ts"
import type { WebApp } from "./WebApp.ts"

const creationTimestamp = "2026-11-20T08:00:00Z"
const metadata = { name: "shop", namespace: "default", uid: "u", resourceVersion: "1", creationTimestamp }

const migrate: Entry = { name: "migrate", command: ["migrate"] }
const seed: Entry = { name: "seed", command: ["seed"], when: "Before" }
const smoke: Entry = { name: "smoke", command: ["smoke"], when: "After" }

const of = (image: string, jobs: ReadonlyArray<Entry> = [migrate], replicas = 2): WebApp => ({
  metadata,
  spec: { image, replicas, port: 8080, jobs }
})

const owner = (uid: string): OwnerReference => ({
  apiVersion: "apps.kubedojo.io/v1beta1",
  kind: "WebApp",
  name: "shop",
  uid,
  controller: true
})

const nameOf = (app: WebApp, entry: Entry) => JobTemplate.nameOf(app, entry, desiredDeployment(app))

/** The Job of a job, in a state. */
const jobOf = (app: WebApp, entry: Entry, state: "Complete" | "Failed" | "Running" | "Pending" | "Deleted"): Job => ({
  metadata: {
    ...metadata,
    name: nameOf(app, entry),
    ...(state === "Deleted" ? { deletionTimestamp: creationTimestamp } : {})
  },
  spec: { template: {} },
  status: {
    ready: state === "Running" ? 1 : 0,
    conditions: state === "Complete" || state === "Failed" ? [{ type: state, status: "True", message: "the end" }] : []
  }
})

/** The Deployment after an apply with these complete jobs. */
const stored = (app: WebApp, complete: ReadonlyArray<Entry> = [], isRolledOut = true): Deployment => {
  const { metadata: meta, spec } = HeldTemplate.keep(desiredDeployment(app))
  const names = complete.map((entry) => nameOf(app, entry)).join(",")
  const { replicas } = app.spec
  return {
    metadata: {
      ...metadata,
      ownerReferences: [owner("u")],
      annotations: { ...meta.annotations, [JobPlan.annotation]: names }
    },
    spec: { ...spec, selector: spec?.selector ?? {}, template: spec?.template ?? {} },
    status: {
      replicas,
      updatedReplicas: replicas,
      readyReplicas: replicas,
      availableReplicas: isRolledOut ? replicas : 0,
      conditions: [{ type: "Available", status: "True" }]
    }
  }
}

const planOf = (app: WebApp, existing: Deployment | undefined, jobs: ReadonlyArray<Job> = [], isGivenAway = false) =>
  JobPlan.of(app, desiredDeployment(app, { existing }), existing, jobs, isGivenAway)

/** The Deployment to apply; undefined if it stays as it is. */
const deploymentOf = (plan: JobPlan.JobPlan, desired: Desired<Deployment>, existing: Deployment | undefined) => {
  const { isHeld } = plan
  const template = isHeld ? existing && HeldTemplate.of(existing) : desired.spec?.template
  if (template === undefined || desired.spec === undefined) return undefined
  const chosen = { ...desired, spec: { ...desired.spec, template } }
  return JobPlan.recorded(plan, chosen, existing, { isHeld, isRecorded: false })
}

/** The plan as text: the next job, what becomes of the Deployment, and the Jobs to remove. */
const read = (app: WebApp, existing: Deployment | undefined, jobs: ReadonlyArray<Job> = [], isGivenAway = false) => {
  const plan = planOf(app, existing, jobs, isGivenAway)
  const desired = desiredDeployment(app, { existing })
  const deployment = deploymentOf(plan, desired, existing)
  const images = deployment?.spec?.template.spec?.containers.map(({ image }) => image)
  return {
    next: plan.next?.entry.name,
    creates: JobPlan.childrenOf(plan, app, desired, "app").job && plan.next?.entry.name,
    pods: images?.[0],
    removes: plan.superseded.map(({ metadata: { name } }) => name)
  }
}

const [one, two] = [of("web:1"), of("web:2")]
const idle = { next: undefined, creates: undefined, removes: [] }

test("a WebApp whose configuration is missing keeps its Jobs, starts no job, and reports that", () => {
  const job = jobOf(one, migrate, "Failed")
  const plan = JobPlan.paused(one, [job])
  expect([plan.next, plan.kept, plan.superseded]).toEqual([undefined, [job], []])
  expect(JobPlan.finding(plan, { job: undefined, problem: undefined, pods: [], container: "app", now: 0 })).toEqual({
    status: "False",
    reason: "Waiting",
    message: "no job starts before the ConfigMaps, Secrets and keys of the pods exist"
  })
  expect(JobPlan.paused({ ...one, spec: { ...one.spec, jobs: [] } }, []).runs).toEqual([])
})

describe("a job before the rollout", () => {
  test("runs before the Deployment is created", () =>
    expect(read(one, undefined)).toEqual({ next: "migrate", creates: "migrate", pods: undefined, removes: [] }))

  test("keeps the pod template of the older revision until it is complete", () => {
    const existing = stored(one, [migrate])
    expect(read(two, existing)).toEqual({ next: "migrate", creates: "migrate", pods: "web:1", removes: [] })
    for (const state of ["Pending", "Running", "Failed", "Deleted"] as const) {
      const job = jobOf(two, migrate, state)
      expect(read(two, existing, [job])).toEqual({ next: "migrate", creates: undefined, pods: "web:1", removes: [] })
    }
    expect(read(two, existing, [jobOf(two, migrate, "Complete")])).toEqual({ ...idle, pods: "web:2" })
  })

  test("leaves a Deployment as it is whose applied template is unknown", () => {
    const { annotations: _, ...unknown } = stored(one).metadata
    expect(read(two, { ...stored(one), metadata: unknown })).toMatchObject({ creates: "migrate", pods: undefined })
  })

  test("lets the Deployment follow the replicas of the spec meanwhile, and keeps the record of the complete jobs", () => {
    const existing = stored(one, [migrate])
    const app = of("web:2", [migrate], 5)
    const desired = desiredDeployment(app, { existing })
    const held = deploymentOf(planOf(app, existing), desired, existing)
    expect(held?.metadata.annotations).toEqual(existing.metadata.annotations ?? {})
    expect(held?.spec).toMatchObject({ replicas: 5, template: existing.spec?.template })
  })

  test("does not run again after a scale, nor after its Job was deleted", () => {
    const existing = stored(one, [migrate])
    expect(read(of("web:1", [migrate], 5), existing, [jobOf(one, migrate, "Complete")])).toEqual({
      ...idle,
      pods: "web:1"
    })
    expect(read(one, existing)).toEqual({ ...idle, pods: "web:1" })
  })

  test("does not run again for a Deployment that was deleted, while its Job exists", () =>
    expect(read(one, undefined, [jobOf(one, migrate, "Complete")])).toEqual({ ...idle, pods: "web:1" }))

  test("runs in the order of the list, one at a time", () => {
    const app = of("web:1", [seed, migrate])
    expect(read(app, undefined)).toMatchObject({ creates: "seed", pods: undefined })
    expect(read(app, undefined, [jobOf(app, seed, "Running")])).toMatchObject({ next: "seed", creates: undefined })
    const jobs = [jobOf(app, seed, "Complete")]
    expect(read(app, undefined, jobs)).toMatchObject({ creates: "migrate", pods: undefined })
    expect(read(app, undefined, [...jobs, jobOf(app, migrate, "Complete")])).toMatchObject({ ...idle, pods: "web:1" })
  })

  test("that is new in the spec runs although the pods have their template", () =>
    expect(read(of("web:1", [migrate, seed]), stored(one, [migrate]))).toMatchObject({
      creates: "seed",
      pods: "web:1"
    }))
})

describe("a return to an older revision", () => {
  const job = jobOf(one, migrate, "Complete")
  test("removes the Jobs of other revisions before the template changes, so that the job runs again", () => {
    expect(read(two, stored(one, [migrate]), [job, jobOf(two, migrate, "Complete")]).removes).toEqual([
      nameOf(one, migrate)
    ])
    expect(read(one, stored(two, [migrate]))).toMatchObject({ creates: "migrate", pods: "web:2" })
  })

  test("runs nothing if the Deployment never left that revision", () => {
    const failed = jobOf(two, migrate, "Failed")
    expect(read(one, stored(one, [migrate]), [failed])).toEqual({
      ...idle,
      pods: "web:1",
      removes: [nameOf(two, migrate)]
    })
  })
})

describe("a Job of another revision", () => {
  const existing = stored(one, [migrate])
  const three = of("web:3")
  test("whose container runs is kept, and the next Job waits for its end", () => {
    const job = jobOf(two, migrate, "Running")
    expect(read(three, existing, [job])).toEqual({ next: "migrate", creates: undefined, pods: "web:1", removes: [] })
    expect(planOf(three, existing, [job]).kept).toEqual([job])
  })

  test("whose container does not run is removed, and the next Job waits until it is gone", () => {
    for (const state of ["Pending", "Deleted"] as const) {
      const job = jobOf(two, migrate, state)
      expect(read(three, existing, [job])).toEqual({
        next: "migrate",
        creates: undefined,
        pods: "web:1",
        removes: [job.metadata.name]
      })
    }
  })

  test("that has failed is removed at once", () => {
    const job = jobOf(two, migrate, "Failed")
    expect(read(three, existing, [job])).toMatchObject({ creates: "migrate", removes: [job.metadata.name] })
  })
})

describe("a job after the rollout", () => {
  const app = of("web:1", [migrate, smoke])
  test("starts when all pods run the new template", () => {
    expect(read(app, stored(app, [migrate], false))).toEqual({ ...idle, pods: "web:1" })
    expect(read(app, stored(of("web:0", [migrate, smoke]), []), [jobOf(app, migrate, "Complete")])).toEqual({
      ...idle,
      pods: "web:1"
    })
    expect(read(app, stored(app, [migrate]))).toMatchObject({ creates: "smoke", pods: "web:1" })
  })

  test("is recorded at its end, and does not run again after its Job was deleted", () => {
    const existing = stored(app, [migrate])
    const plan = planOf(app, existing, [jobOf(app, smoke, "Complete")])
    expect(deploymentOf(plan, desiredDeployment(app), existing)?.metadata.annotations?.[JobPlan.annotation]).toBe(
      `${nameOf(app, migrate)},${nameOf(app, smoke)}`
    )
    expect(read(app, stored(app, [migrate, smoke]))).toEqual({ ...idle, pods: "web:1" })
  })

  test("goes on when a pod is lost", () =>
    expect(read(app, stored(app, [migrate], false), [jobOf(app, smoke, "Running")])).toMatchObject({ next: "smoke" }))
})

describe("a Deployment of another owner", () => {
  const foreign = (ownerReferences: ReadonlyArray<OwnerReference>, annotations = {}): Deployment => ({
    ...stored(one),
    metadata: { ...metadata, ownerReferences, annotations }
  })
  const applied = { [Owned.intentAnnotation]: "a" }

  test("lets no job run", () => {
    for (const deployment of [
      foreign([]),
      foreign([owner("other")]),
      foreign([{ ...owner("other"), kind: "Site" }], applied)
    ]) {
      expect(read(one, deployment)).toMatchObject({ next: undefined, creates: undefined })
    }
  })

  test("that the WebApp may adopt stays as it is until the job is complete", () => {
    for (const [deployment, isGivenAway] of [
      [foreign([]), true],
      [foreign([], applied), false],
      [foreign([owner("older")], applied), false]
    ] as const) {
      expect(read(one, deployment, [], isGivenAway)).toMatchObject({ creates: "migrate", pods: undefined })
    }
  })
})

test("A WebApp without jobs removes those that it had, and its Deployment has no annotation of them", () => {
  const app = of("web:1", [])
  const desired: Desired<Deployment> = desiredDeployment(app)
  const plan = planOf(app, stored(one, [migrate]), [jobOf(one, migrate, "Complete")])
  expect(plan.superseded).toHaveLength(1)
  expect(deploymentOf(plan, desired, stored(one))).toEqual(desired)
})

describe("the condition", () => {
  const found = (
    app: WebApp,
    existing: Deployment | undefined,
    jobs: ReadonlyArray<Job>,
    seen: Partial<JobPlan.Seen> = {}
  ) => {
    const plan = planOf(app, existing, jobs)
    return JobPlan.finding(plan, {
      job: plan.next?.job,
      problem: undefined,
      pods: [],
      container: "app",
      now: 0,
      ...seen
    })
  }
  const name = nameOf(one, migrate)

  test("is absent without jobs", () => expect(found(of("web:1", []), undefined, [])).toBeUndefined())

  for (const [title, seen, expected] of [
    [
      "is True when all jobs are complete",
      found(one, stored(one, [migrate]), []),
      ["True", "AllJobsComplete", "1 of 1 jobs are complete"]
    ],
    [
      "says what a Job does",
      found(one, undefined, [jobOf(one, migrate, "Running")]),
      ["False", "JobRunning", `Job ${name}: 0 of 1 pods succeeded`]
    ],
    [
      "says why a Job has no pod",
      found(one, undefined, [jobOf(one, migrate, "Running")], { podless: "exceeded quota" }),
      ["False", "FailedCreate", `Job ${name} has no pod yet: exceeded quota`]
    ],
    [
      "says how a Job failed, how to read its log, and how to go on",
      found(one, undefined, [jobOf(one, migrate, "Failed")]),
      [
        "False",
        "JobFailed",
        `Job ${name} failed: the end (see kubectl logs job/${name}; change the spec, or delete the Job to run it again)`
      ]
    ],
    [
      "says why a Job could not be created",
      found(one, undefined, [], { problem: { reason: "Invalid", message: "no" } }),
      ["False", "Invalid", "no"]
    ],
    [
      "says that a Job is being deleted",
      found(one, undefined, [jobOf(one, migrate, "Deleted")]),
      ["False", "JobRunning", `Job ${name} is being deleted, and then runs again`]
    ],
    [
      "says that a Job of another revision still runs",
      found(one, undefined, [jobOf(two, migrate, "Running")]),
      [
        "False",
        "WaitingForJob",
        `job migrate waits for the end of Job ${nameOf(two, migrate)}, which belongs to another revision (delete that Job to stop it)`
      ]
    ],
    [
      "says that a job waits for the rollout",
      found(of("web:1", [smoke]), undefined, []),
      ["False", "RolloutInProgress", "job smoke starts when all pods run the present spec"]
    ],
    [
      "says that no job runs for a foreign Deployment",
      found(one, { ...stored(one), metadata }, []),
      ["False", "DeploymentNotOwned", "no job starts before the WebApp owns its Deployment"]
    ]
  ] as const) {
    test(title, () => {
      const [status, reason, message] = expected
      expect(seen).toMatchObject({ status, reason, message })
      expect(seen?.stalled === true).toBe(["JobFailed", "Invalid"].includes(reason))
    })
  }

  test("names the problem of a pod that cannot start", () => {
    const waiting = { reason: "ImagePullBackOff", message: "Back-off pulling image" }
    const pod = {
      metadata: { ...metadata, name: "shop-migrate-x" },
      status: {
        containerStatuses: [{ name: "app", image: "", imageID: "", ready: false, restartCount: 0, state: { waiting } }]
      }
    }
    expect(found(one, undefined, [jobOf(one, migrate, "Pending")], { pods: [pod] })).toMatchObject({
      status: "False",
      reason: "ImagePullFailed",
      message: `Job ${name}: Back-off pulling image`
    })
  })
})
