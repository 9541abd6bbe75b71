/** The desired children of a WebApp. Pure. */
import * as Owned from "@homeostat/runtime/controller/Owned"
import {
  ControllerRevision,
  Deployment,
  HorizontalPodAutoscaler,
  type Job,
  NetworkPolicy,
  type Pod,
  PodDisruptionBudget,
  Service
} from "@homeostat/runtime/resource/BuiltIn"
import { controllerOf, type Desired } from "@homeostat/runtime/resource/KubernetesObject"
import type * as Resource from "@homeostat/runtime/resource/Resource"
import * as Autoscaling from "./Autoscaling.ts"
import * as Config from "./Config.ts"
import * as Delivery from "./Delivery.ts"
import * as Disruption from "./Disruption.ts"
import * as Exposure from "./Exposure.ts"
import * as HeldTemplate from "./HeldTemplate.ts"
import * as JobPlan from "./JobPlan.ts"
import * as NetworkAccess from "./NetworkAccess.ts"
import * as PodTemplate from "./PodTemplate.ts"
import * as Rollback from "./Rollback.ts"
import type { Selector } from "./Selector.ts"
import type { WebApp } from "./WebApp.ts"

/**
 * The field manager of every write, the reporter of every event, and the value of the managed-by label. Existing children have it, so
 * it cannot change.
 */
export const manager = "webapp-controller"

/** The managed-by label of the pods: ours, or that of an older controller whose Deployments keep theirs. */
export const managers = [manager, "webapp-operator"] as const

/** `"true"` on a Deployment or Service without a controlling owner transfers it to the WebApp with its name. */
export const adoptAnnotation = "apps.kubedojo.io/adopt"

/** The cached objects of a WebApp, and what its pods report. */
export interface Cached {
  /** The Deployment, if it has the name of the WebApp. */
  readonly deployment: Deployment | undefined
  /** The autoscalers of the Deployment and of the WebApp. */
  readonly autoscalers: ReadonlyArray<HorizontalPodAutoscaler>
  /** The budgets of other managers in the namespace. */
  readonly budgets: ReadonlyArray<PodDisruptionBudget>
  /** The referenced ConfigMaps and Secrets, if there are references. */
  readonly config?: Config.Observed | undefined
  /** The Jobs that the WebApp controls. */
  readonly jobs: ReadonlyArray<Job>
  /** The Service, if it has the name of a WebApp with a `Delivery`. */
  readonly service: Service | undefined
  /** The ControllerRevisions of the WebApp; empty without `rollback: Auto`. */
  readonly revisions: ReadonlyArray<ControllerRevision>
  /** The pods of the Deployment. */
  readonly pods: ReadonlyArray<Pod>
  /** Why the newest pods do not start, if known. */
  readonly troubleOf: (container: string) => string | undefined
  /** Milliseconds since 1970. */
  readonly now: number
}

/** The kinds that most children replace: a child that fails keeps no child of another kind. */
const noOthers: ReadonlyArray<Resource.Any> = []

/** The desired children of a WebApp, and how the controller chose them. */
export const childrenOf = (app: WebApp, cached: Cached) => {
  const rollout = rolloutOf(app, cached)
  const { container, existing, isClaimable, jobs, obstacle, rollback, scaling } = rollout
  const selector = selectorOf(app, existing)
  const otherBudget = otherBudgetOf(cached.budgets, rollout)
  return {
    container,
    existing,
    deployment: rollout.deployment,
    scaling,
    rollback,
    otherBudget,
    jobs,
    obstacle,
    children: {
      revision: rollback.revision && Owned.child(ControllerRevision, rollback.revision, { replaces: noOthers }),
      // Before the pods, which would accept every client.
      networkPolicy: isClaimable ? networkPolicyChild(app, selector) : undefined,
      deployment: deploymentChild(app, cached, rollout),
      // The Service does not wait until the API server accepts the Deployment.
      service: serviceChild(app, cached, existing),
      route: Exposure.routeOf(app, labelsOf(app), { adoptAnnotation }),
      autoscaler: autoscalerChild(app, cached, rollout),
      budget: isClaimable && otherBudget === undefined ? budgetChild(app, selector, scaling) : undefined,
      ...(rollout.specDeployment && JobPlan.childrenOf(jobs, app, rollout.specDeployment, container))
    }
  }
}

/** The first of these budgets that selects the pods. */
const otherBudgetOf = (
  budgets: Cached["budgets"],
  { existing, specTemplate }: Rollout
): PodDisruptionBudget | undefined => {
  if (budgets.length === 0) return undefined
  const podLabels = { ...existing?.spec?.template.metadata?.labels, ...specTemplate.metadata?.labels }
  return Disruption.selecting(budgets, podLabels)
}

/** The existing Deployment with the name of the WebApp, as far as the WebApp may have it. */
const claimOf = (app: WebApp, deployment: Deployment | undefined) => {
  const existing = isOwnOrAdopted(app, deployment) ? deployment : undefined
  const found = containerOf(existing)
  const isAdoptable = found !== undefined
  const isGivenAway = deployment?.metadata.annotations?.[adoptAnnotation] === "true" && isAdoptable
  return {
    /** The Deployment; undefined if it does not exist or has another owner. */
    existing,
    /** The name of the container with the image. */
    container: found ?? defaultContainer,
    /** Whether the existing Deployment can be adopted. */
    isAdoptable,
    /** Why it cannot be adopted. */
    obstacle: isAdoptable ? undefined : severalContainers,
    /** Whether a user gives the Deployment to the WebApp, and it can be adopted. */
    isGivenAway,
    /** Whether the WebApp has the Deployment, or can adopt or create it. The pods of another owner's Deployment are not its own. */
    isClaimable: deployment === undefined || JobPlan.isClaimable(app, deployment, isGivenAway)
  }
}

/** The Deployment to apply now, and the jobs, the rollback and the autoscaler that decide on it. */
const rolloutOf = (app: WebApp, cached: Cached) => {
  const claim = claimOf(app, cached.deployment)
  const { container, existing, isClaimable, isGivenAway } = claim
  const scaling = Autoscaling.of(app, existing, cached.autoscalers)
  const options = { container, existing, scaling }
  const specTemplate = templateOf(app, container, existing, cached.config)
  const usesJobs = JobPlan.isUsed(app, cached.deployment, cached.jobs)
  const specDeployment = usesJobs ? desiredDeployment(app, { ...options, template: specTemplate }) : undefined
  const { now, pods, revisions, troubleOf } = cached
  const observed = {
    container,
    existing,
    revisions,
    pods,
    troubleOf,
    now,
    template: specTemplate,
    labels: labelsOf(app)
  }

  // First: does the template of the spec wait for its configuration or a job? The template of an undo needs no job.
  const lacksConfig = isClaimable && Config.isMissing(cached.config)
  const isUndone = !lacksConfig && isReplaced(existing) && isUndo(Rollback.choose(app, observed))
  const plan = lacksConfig
    ? JobPlan.paused(app, cached.jobs)
    : specDeployment === undefined
      ? JobPlan.none
      : JobPlan.of(app, specDeployment, cached.deployment, cached.jobs, isGivenAway)
  const jobs = isUndone ? JobPlan.undone(plan, cached.jobs) : plan
  const isWaiting = lacksConfig || jobs.isHeld

  // Second: the template that the Deployment gets meanwhile, or instead of one that failed.
  const recordedTemplate = cached.deployment && HeldTemplate.of(cached.deployment)
  const choice = isWaiting ? keptChoice(app, observed, recordedTemplate) : Rollback.choose(app, observed)
  // The next template is on its way.
  const rollback = jobs.isHeld ? { ...choice, rolledBack: undefined } : choice

  // Third: a new Deployment is not created while its template waits, and one to adopt stays as it is.
  const isApplied = !isWaiting || recordedTemplate !== undefined || isOwn(app, existing)
  const records = {
    isHeld: isWaiting || (isUndone && usesJobs),
    isRecorded: cached.config !== undefined
  }
  return {
    ...claim,
    scaling,
    /** The pod template of the spec. */
    specTemplate,
    /** The Deployment with the pod template of the spec; undefined for a WebApp without jobs. */
    specDeployment,
    jobs,
    /** Whether the pod template of the spec waits. */
    isWaiting,
    rollback,
    /** The Deployment to apply; undefined if it stays as it is, or does not exist yet. */
    deployment: isApplied
      ? JobPlan.recorded(jobs, desiredDeployment(app, { ...options, ...rollback }), cached.deployment, records)
      : undefined
  }
}

const isUndo = ({ rolledBack }: Rollback.Choice): boolean => rolledBack?.reason === "RolloutUndone"

/**
 * The choice for a Deployment that keeps its template.
 *
 * @param recorded the template that the controller applied last. Before the first job and reference, the Deployment has no record of it
 */
const keptChoice = (app: WebApp, observed: Rollback.Observed, recorded: Template | undefined): Rollback.Choice => {
  const { existing, template } = observed
  if (recorded === undefined && existing !== undefined && isOwn(app, existing)) {
    return Rollback.hold(app, observed, existing)
  }
  return Rollback.choose(app, { ...observed, template: recorded ?? template, isHeld: true })
}

type Rollout = ReturnType<typeof rolloutOf>

const networkPolicyChild = (app: WebApp, selector: Selector) => {
  const { networkPolicy } = app.spec
  if (networkPolicy === undefined) return undefined
  const desired = NetworkAccess.desired(app, networkPolicy, selector, labelsOf(app), managers)
  return Owned.child(NetworkPolicy, desired, { exclusive: NetworkAccess.exclusive, replaces: noOthers })
}

const deploymentChild = (
  app: WebApp,
  cached: Cached,
  { container, deployment, isAdoptable, isClaimable, isWaiting, scaling }: Rollout
) =>
  deployment === undefined
    ? cached.deployment && Owned.keep(Deployment, cached.deployment)
    : Owned.child(Deployment, deployment, {
        // The parts of the template may be others in that of an older revision.
        exclusive: isWaiting ? exclusiveWhileWaiting : exclusiveInDeployment(app, container),
        adoptAnnotation: isAdoptable ? adoptAnnotation : undefined,
        replaces: isClaimable ? noOthers : wantedWithPods(app, scaling),
        handOver: scaling.by === "Spec" ? undefined : ({ spec }) => ({ spec: { replicas: spec?.replicas } })
      })

/** The kinds of the children that depend on the pods. The existing ones stay if another owner takes the Deployment. */
const wantedWithPods = (app: WebApp, scaling: Autoscaling.Scaling): ReadonlyArray<Resource.Any> => [
  ...(app.spec.networkPolicy === undefined ? [] : [NetworkPolicy]),
  ...(app.spec.autoscaling === undefined ? [] : [HorizontalPodAutoscaler]),
  ...(Disruption.isWanted(app, scaling) ? [PodDisruptionBudget] : [])
]

const serviceChild = (app: WebApp, cached: Cached, existing: Deployment | undefined) => {
  const isKept = Delivery.of(app) !== undefined && cached.service !== undefined
  return Owned.child(Service, desiredService(app, existing, isKept), {
    exclusive: isKept ? [] : exclusiveInService,
    adoptAnnotation,
    replaces: noOthers,
    handOver: isKept ? ({ spec }) => ({ spec: { selector: spec?.selector, ports: spec?.ports } }) : undefined
  })
}

const autoscalerChild = (app: WebApp, cached: Cached, { existing, scaling }: Rollout) => {
  const { autoscaling } = app.spec
  // An autoscaler does not come before the Deployment, which might belong to another owner. It stays if the Deployment is deleted.
  const isScalable = cached.deployment === undefined ? cached.autoscalers.length > 0 : isOwn(app, existing)
  if (autoscaling === undefined || !scaling.isWanted || !isScalable) return undefined
  const desired = Autoscaling.desired(app, autoscaling, labelsOf(app))
  return Owned.child(HorizontalPodAutoscaler, desired, { exclusive: Autoscaling.exclusive, replaces: noOthers })
}

const budgetChild = (app: WebApp, selector: Selector, scaling: Autoscaling.Scaling) =>
  Disruption.isWanted(app, scaling)
    ? Owned.child(PodDisruptionBudget, Disruption.desired(app, selector, labelsOf(app)), {
        exclusive: Disruption.exclusive,
        replaces: noOthers
      })
    : undefined

const isOwn = (app: WebApp, existing: Deployment | undefined): boolean =>
  existing !== undefined && controllerOf(existing)?.uid === app.metadata.uid

const isOwnOrAdopted = (app: WebApp, existing: Deployment | undefined): boolean =>
  isOwn(app, existing) ||
  (existing?.metadata.annotations?.[adoptAnnotation] === "true" && JobPlan.isClaimable(app, existing, true))

const isReplaced = (existing: Deployment | undefined): boolean =>
  existing !== undefined && Rollback.isReplaced(existing)

const severalContainers = "its Deployment cannot be adopted: several containers (rename the one with the image to app)"

/** The labels of all children of a WebApp. */
export const labelsOf = (app: WebApp): { readonly [key: string]: string } => ({
  app: app.metadata.name,
  "app.kubernetes.io/managed-by": manager
})

/** The name of the container with the image in a Deployment that the controller creates. */
export const defaultContainer = "app"

/** The annotation of an adopted Deployment with the name of its container with the image. */
export const containerAnnotation = "apps.kubedojo.io/container"

/**
 * The name of the container with the image. A Deployment to adopt may have one container with another name. The controller does not
 * change other containers.
 *
 * Undefined if a Deployment to adopt has several containers, and none of them is called `app`.
 */
export const containerOf = (existing: Deployment | undefined): string | undefined => {
  const adopted = existing?.metadata.annotations?.[containerAnnotation]
  if (adopted !== undefined) return adopted
  const containers = existing?.spec?.template.spec?.containers ?? []
  if (containers.length === 0 || containers.some(({ name }) => name === defaultContainer)) return defaultContainer
  const isControlled = existing !== undefined && controllerOf(existing) !== undefined
  // An undo to a revision from before the adoption also removes the annotation.
  if (isControlled && !(Rollback.isReplaced(existing) && containers.length === 1)) return defaultContainer
  return containers.length === 1 ? containers[0]?.name : undefined
}

/** The selector of the pods. That of an existing Deployment stays, because selectors are immutable and older controllers chose other ones. */
export const selectorOf = (app: WebApp, existing: Deployment | undefined): Selector =>
  existing?.spec?.selector ?? { matchLabels: labelsOf(app) }

/**
 * The Deployment of a WebApp.
 *
 * @param container the name of the container with the image: see {@link containerOf}
 * @param existing the existing Deployment, if any
 * @param scaling who sets the replicas: see {@link Autoscaling.of}
 * @param template the pod template, if it need not be that of the spec: see `Rollback.choose`
 * @param labels more labels of the Deployment
 * @param annotations more annotations of the Deployment
 */
export const desiredDeployment = (
  app: WebApp,
  options: {
    readonly container?: string | undefined
    readonly existing?: Deployment | undefined
    readonly scaling?: Pick<Autoscaling.Scaling, "by" | "replicas"> | undefined
    readonly template?: Template | undefined
    readonly labels?: { readonly [key: string]: string } | undefined
    readonly annotations?: { readonly [key: string]: string } | undefined
  } = {}
): Desired<Deployment> => {
  const { progressDeadlineSeconds, replicas, strategy = "RollingUpdate" } = app.spec
  const { container = defaultContainer, existing, scaling = { by: "Spec", replicas } } = options
  const { template = templateOf(app, container, existing) } = options
  const annotations: { [key: string]: string } = { ...options.annotations }
  if (container !== defaultContainer) annotations[containerAnnotation] = container
  // After a delivery by another controller, the replicas of the spec apply at once: it may have left none.
  if (scaling.by === "Others" && Delivery.of(app) === undefined) {
    annotations[Autoscaling.replicasAnnotation] = String(replicas)
  }
  const limits: { replicas?: number; progressDeadlineSeconds?: number } = {}
  if (scaling.by === "Spec") limits.replicas = scaling.replicas
  if (progressDeadlineSeconds !== undefined) limits.progressDeadlineSeconds = progressDeadlineSeconds
  return {
    metadata: {
      name: app.metadata.name,
      labels: { ...labelsOf(app), ...options.labels },
      annotations
    },
    spec: {
      ...limits,
      selector: selectorOf(app, existing),
      strategy:
        strategy === "Recreate"
          ? { type: strategy }
          : { type: strategy, rollingUpdate: { maxUnavailable: 0, maxSurge: "25%" } },
      template
    }
  }
}

type Template = ReturnType<typeof PodTemplate.of>

/**
 * The pod template of the spec.
 *
 * @param config the referenced ConfigMaps and Secrets
 */
export const templateOf = (
  app: WebApp,
  container: string,
  existing: Deployment | undefined,
  config?: Config.Observed | undefined
): Template => {
  const selector = selectorOf(app, existing)
  const labels = { ...labelsOf(app), ...selector.matchLabels }
  const metadata = config === undefined ? { labels } : { labels, annotations: { [Config.hashAnnotation]: config.hash } }
  return PodTemplate.of(app, container, metadata, selector)
}

/**
 * The Service of a WebApp. The API server chooses cluster IP, node ports and IP families, so the intent omits them.
 *
 * @param deployment the WebApp's Deployment. A Deployment that was taken over may have other pod labels
 * @param isKept another controller sets the selector and the ports: see `Delivery`
 */
export const desiredService = (app: WebApp, deployment?: Deployment, isKept = false): Desired<Service> => {
  const { name } = app.metadata
  const labels = labelsOf(app)
  const { matchLabels = {} } = deployment?.spec?.selector ?? {}
  return {
    metadata: { name, labels },
    spec: isKept
      ? { type: "ClusterIP" }
      : {
          type: "ClusterIP",
          // The whole selector: other pods may have the label `app` too.
          selector: Object.keys(matchLabels).length === 0 ? labels : { ...matchLabels },
          // Without a name: kube-proxy finds the endpoints by it, so that a new name would cut connections for a moment.
          ports: [{ port: app.spec.port, targetPort: app.spec.port, protocol: "TCP" }]
        }
  }
}

/**
 * The fields of a Deployment that the controller owns exclusively. An added port or variable would reach the pods, and a probe has
 * exactly one handler.
 *
 * @param container the name of the container with the image
 */
export const exclusiveInDeployment = (app: WebApp, container: string) => {
  const { probes } = app.spec
  return probes === undefined && container === defaultContainer ? usualExclusive : exclusiveParts(container, probes)
}

/** Those outside of the pod template. */
const exclusiveWhileWaiting = [["spec", "strategy"]] as const

const exclusiveParts = (container: string, { liveness, readiness, startup }: WebApp["spec"]["probes"] & {} = {}) => {
  const within = ["spec", "template", "spec", "containers", { name: container }] as const
  return [
    ...exclusiveWhileWaiting,
    [...within, "ports"],
    [...within, "env"],
    [...within, "lifecycle", "preStop"],
    ...(readiness?.none === undefined ? [[...within, "readinessProbe"]] : []),
    ...(liveness === undefined ? [] : [[...within, "livenessProbe"]]),
    ...(startup === undefined ? [] : [[...within, "startupProbe"]])
  ]
}

/** Those of most WebApps. Every reconcile needs them. */
const usualExclusive = exclusiveParts(defaultContainer)

/** The fields of a Service that the controller owns exclusively: an additional selector key would silently empty it. */
export const exclusiveInService = [
  ["spec", "ports"],
  ["spec", "selector"]
] as const
