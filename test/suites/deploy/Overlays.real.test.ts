/**
 * The parts of each overlay fit together and fit the program: flags, variables, permissions, ports, labels and images. The tests need
 * kubectl, which only the real lane has.
 */
import { describe, expect } from "bun:test"
import { join } from "node:path"
import type { BuiltIn } from "@homeostat/runtime"
import * as Flag from "@homeostat/runtime/command/Flag"
import * as Rbac from "@homeostat/runtime/command/Rbac"
import * as Run from "@homeostat/runtime/command/Run"
import * as Setting from "@homeostat/runtime/command/Setting"
import * as Webhooks from "@homeostat/runtime/command/Webhooks"
import * as Connections from "@homeostat/runtime/manager/Connections"
import { live } from "@homeostat/testkit/Test"
import { ConfigProvider, Duration, Effect, Result } from "effect"
import { loadAll } from "js-yaml"
import { program } from "../../../controllers/main.ts"
import * as Binary from "../binary/Binary.ts"
import * as Overlay from "./Overlay.ts"

/** The go.mod of the Jaeger that tests build. */
const built = await Bun.file(join(import.meta.dir, "../../cluster/envtest/assets/jaeger/go.mod")).text()

type Labels = { readonly [label: string]: string } | undefined
type PodTemplate = ReturnType<typeof Overlay.manager>["template"]
type Container = ReturnType<typeof Overlay.manager>["container"]

interface Peer {
  readonly namespaceSelector?: { readonly matchLabels?: Labels }
  readonly podSelector?: { readonly matchLabels?: Labels; readonly matchExpressions?: ReadonlyArray<object> }
}
interface Port {
  readonly port: number
  readonly protocol?: string
}
interface NetworkPolicy {
  readonly spec: {
    readonly podSelector: { readonly matchLabels: Labels }
    readonly ingress: ReadonlyArray<{ readonly from: ReadonlyArray<Peer>; readonly ports: ReadonlyArray<Port> }>
    readonly egress: ReadonlyArray<{ readonly to?: ReadonlyArray<Peer>; readonly ports: ReadonlyArray<Port> }>
  }
}

interface Monitor {
  readonly spec: {
    readonly selector: { readonly matchLabels: Labels }
    readonly endpoints: ReadonlyArray<{
      readonly port: string
      readonly scheme?: string
      readonly authorization?: { readonly credentials: { readonly name: string; readonly key: string } }
    }>
  }
}

const verb = Run.verb(program)
const flags = Object.fromEntries(verb.flags.map((flag) => [flag.name, flag]))

/** The environment of a container. A variable with a fieldRef has the path of the field as its value. */
const environmentOf = ({ env = [] }: Container) =>
  Object.fromEntries(env.map(({ name, value, valueFrom }) => [name, value ?? valueFrom?.fieldRef?.fieldPath ?? ""]))

/** The settings that the program reads from the arguments and the environment of a container, by flag. */
const settingsOf = (container: Container) => {
  const [verb, ...args] = container.args ?? []
  expect(verb).toBe("run")
  return Result.getOrThrowWith(
    Flag.read(flags, { program: program.name, args, environment: environmentOf(container) }),
    (why) => new Error(why)
  ).values
}

const selects = (selector: Labels, labels: Labels): boolean =>
  Object.entries(selector ?? {}).every(([name, value]) => labels?.[name] === value) &&
  Object.keys(selector ?? {}).length > 0

const portNamed = ({ ports = [] }: Container, wanted: number | string | undefined) =>
  ports.find(({ containerPort, name }) => name === wanted || containerPort === wanted)?.containerPort

/** Declares a test for each overlay. */
const each = (
  behaviour: string,
  body: (rendered: Overlay.Rendered, name: string) => Effect.Effect<void> | void
): void => {
  for (const name of Overlay.names) {
    live(`${name} ${behaviour}`, () =>
      Effect.flatMap(Overlay.render(Overlay.path(name)), (rendered) => body(rendered, name) ?? Effect.void)
    )
  }
}

const only = (
  name: string,
  behaviour: string,
  body: (rendered: Overlay.Rendered) => void,
  of = Overlay.names
): void => {
  const found = of.find((one) => one === name)
  if (found === undefined) throw new Error(`there is no overlay ${name}`)
  live(`${name} ${behaviour}`, () => Effect.map(Overlay.render(Overlay.path(found)), body))
}

type Binding = BuiltIn.RoleBinding | BuiltIn.ClusterRoleBinding

const isBinding = (object: object): object is Binding & Overlay.Manifest =>
  "kind" in object && (object.kind === "RoleBinding" || object.kind === "ClusterRoleBinding")

/** The bindings of the manager's ServiceAccount and of its groups, with the roles in their `roleRef`. */
const rolesOf = (rendered: Overlay.Rendered) => {
  const { deployment, template } = Overlay.manager(rendered)
  const account = { kind: "ServiceAccount", name: template.spec?.serviceAccountName ?? "" }
  const bindings = rendered.all
    .filter(isBinding)
    .filter(({ subjects = [] }) =>
      subjects.some(
        ({ kind, name, namespace }) =>
          kind === "Group" ||
          (kind === account.kind && name === account.name && namespace === deployment.metadata.namespace)
      )
    )
  const roles = rendered.all.filter(({ kind, metadata }) =>
    bindings.some(
      ({ metadata: { namespace }, roleRef }) =>
        roleRef.kind === kind &&
        roleRef.name === metadata.name &&
        (kind === "ClusterRole" || namespace === metadata.namespace)
    )
  )
  return [...roles, ...bindings].map(({ metadata: { name, namespace }, ...rest }) => ({
    ...rest,
    metadata: namespace === undefined ? { name } : { name, namespace }
  }))
}

const withoutNamespace = ["Namespace", "CustomResourceDefinition", "ClusterRole", "ClusterRoleBinding"]

/** The namespaced objects without a namespace. kubectl would create them in its current namespace. */
const astray = ({ all }: Overlay.Rendered) =>
  all
    .filter(({ kind, metadata }) => metadata.namespace === undefined && !withoutNamespace.includes(kind))
    .map(({ kind, metadata }) => `${kind} ${metadata.name}`)

const inOrder = (objects: ReadonlyArray<Pick<Overlay.Manifest, "kind" | "metadata">>) =>
  objects.toSorted((one, other) =>
    `${one.kind} ${one.metadata.namespace} ${one.metadata.name}` <
    `${other.kind} ${other.metadata.namespace} ${other.metadata.name}`
      ? -1
      : 1
  )

describe("The overlay", () => {
  each("starts the program with valid flags", (rendered) => {
    const settings = settingsOf(Overlay.manager(rendered).container)
    expect(settings).toMatchObject({ "leader-elect": true, "install-crds": false })
    // --namespace requires a name of the Lease. The Role grants access to the Lease with the program's name only.
    expect(settings["leader-elect-resource-name"] ?? program.name).toBe(program.name)
    if (Array.isArray(settings.namespace) && settings.namespace.length > 0) {
      expect(settings["leader-elect-resource-name"]).toBe(program.name)
    }
  })

  each("sets variables of the program to valid values", (rendered, name) =>
    Effect.gen(function* () {
      const environment = environmentOf(Overlay.manager(rendered).container)
      const known = [
        ...verb.flags.map((flag) => Flag.variableOf(program.name, flag.name)),
        ...Object.values(program.settings).map(({ variable }) => variable)
      ]
      const ours = Object.keys(environment).filter((variable) => variable.startsWith("HOMEOSTAT_"))
      expect(ours.filter((variable) => !known.includes(variable))).toEqual([])
      const provider = ConfigProvider.fromEnvRecord(environment)
      yield* Setting.read(program.settings).pipe(
        Effect.provideService(ConfigProvider.ConfigProvider, provider),
        Effect.orDie
      )
      const exporting = program.tracing({ name: program.name, version: "0", instance: "pod", environment })
      expect(Result.map(exporting, (exporting) => exporting !== undefined)).toEqual(Result.succeed(name === "tracing"))
      // The limit allows for twenty namespaces, each with its own watches.
      const setting = environment.BUN_CONFIG_MAX_HTTP_REQUESTS
      expect(Connections.problem({ workers: 48, watches: 20 * 12 }, setting)).toBeUndefined()
    })
  )

  each("grants exactly the permissions of these flags", (rendered) => {
    const { container, deployment, template } = Overlay.manager(rendered)
    const known = Object.values(Rbac.flags(program)).map(({ name }) => name)
    const args = (container.args ?? []).filter((arg) => known.some((name) => arg.split("=")[0] === `--${name}`))
    const account = `--service-account=${deployment.metadata.namespace}/${template.spec?.serviceAccountName}`
    const needed = Flag.read(Rbac.flags(program), {
      program: program.name,
      args: [...args, account],
      environment: {}
    }).pipe(
      Result.mapError((why) => new Error(why)),
      Result.flatMap(({ values }) => Rbac.objects(program, values)),
      Result.getOrThrow
    )
    expect(inOrder(rolesOf(rendered))).toEqual(inOrder(needed))
  })

  each("sets the namespace of each namespaced object", (rendered) => {
    expect(astray(rendered)).toEqual([])
  })

  live("of a user without a namespace sets the namespace of each object", () =>
    Effect.gen(function* () {
      const folder = yield* Overlay.own(`
resources: [homeostat/deploy/overlays/namespaced]
components: [homeostat/deploy/components/high-availability, homeostat/deploy/components/monitoring]
`)
      expect(astray(yield* Overlay.render(folder))).toEqual([])
    })
  )

  live("namespaced binds its roles to the manager in the namespace of base", () =>
    Effect.gen(function* () {
      const folder = yield* Overlay.own("resources: [homeostat/deploy/overlays/namespaced]")
      const base = Bun.file(join(folder, "homeostat/deploy/base/kustomization.yaml"))
      yield* Effect.promise(async () => {
        await base.write((await base.text()).replace(/^namespace: .*$/m, "namespace: platform"))
      })
      const rendered = yield* Overlay.render(folder)
      expect(JSON.stringify(rendered.all)).not.toContain("homeostat-system")
      expect(Overlay.manager(rendered).deployment.metadata.namespace).toBe("platform")
    })
  )

  live("namespaced with the monitoring without TLS is scraped over HTTP", () =>
    Effect.gen(function* () {
      const folder = yield* Overlay.own(
        "resources: [homeostat/deploy/overlays/namespaced, homeostat/deploy/monitoring]"
      )
      const rendered = yield* Overlay.render(folder)
      expect(settingsOf(Overlay.manager(rendered).container)).toMatchObject({ "metrics-secure": false })
      const monitor = rendered.one<Monitor>("ServiceMonitor")
      const service = rendered.one<BuiltIn.Service>("Service", "homeostat-metrics")
      expect(monitor.spec.endpoints).toMatchObject([{ port: service.spec?.ports?.[0]?.name }])
      // Prometheus uses http by default.
      expect(monitor.spec.endpoints.map(({ authorization, scheme }) => ({ authorization, scheme }))).toEqual([
        { authorization: undefined, scheme: undefined }
      ])
      expect(monitor.metadata.namespace).toBe(service.metadata.namespace)
    })
  )

  live("has the permission on the finalizers of owners that OpenShift requires", () =>
    Effect.gen(function* () {
      const rendered = yield* Overlay.render(Overlay.path("default"))
      expect(rendered.one<BuiltIn.ClusterRole>("ClusterRole", "homeostat").rules).toContainEqual({
        apiGroups: ["apps.kubedojo.io"],
        resources: ["webapps/finalizers"],
        verbs: ["update"]
      })
    })
  )

  each("has probes, a Service and a NetworkPolicy for the ports of the program", (rendered) => {
    const { container, template } = Overlay.manager(rendered)
    const settings = settingsOf(container)
    const { spec: service } = rendered.one<BuiltIn.Service>("Service", "homeostat-metrics")
    const { spec: policy } = rendered.one<NetworkPolicy>("NetworkPolicy", "homeostat")
    const metrics = portNamed(container, "metrics")
    const probes = portNamed(container, "probes")
    expect(settings).toMatchObject({
      "metrics-bind-address": { port: metrics },
      "health-probe-bind-address": { port: probes }
    })
    const { livenessProbe, readinessProbe } = container
    expect(portNamed(container, livenessProbe?.httpGet?.port)).toBe(probes)
    expect(portNamed(container, readinessProbe?.httpGet?.port)).toBe(probes)
    expect(service?.ports?.map(({ port, targetPort }) => [port, portNamed(container, targetPort)])).toEqual([
      [metrics ?? 0, metrics]
    ])
    const webhooks = settings.webhooks === true ? portNamed(container, "webhooks") : undefined
    expect(policy.ingress.flatMap(({ ports }) => ports.map(({ port }) => port))).toEqual(
      [metrics, webhooks].filter((port) => port !== undefined)
    )
    if (webhooks !== undefined) {
      expect(settings).toMatchObject({ "webhook-bind-address": { port: webhooks } })
      const { metadata, spec } = rendered.one<BuiltIn.Service>("Service", Webhooks.serviceOf(program.name))
      expect(metadata.namespace).toBe(Overlay.manager(rendered).deployment.metadata.namespace)
      expect(spec?.ports?.map(({ port, targetPort }) => [port, portNamed(container, targetPort)])).toEqual([
        [443, webhooks]
      ])
      expect(selects(spec?.selector, template.metadata?.labels)).toBe(true)
    }
    expect(selects(service?.selector, template.metadata?.labels)).toBe(true)
    expect(selects(policy.podSelector.matchLabels, template.metadata?.labels)).toBe(true)
  })

  each("runs the built images with the version of the program, as their user", (rendered) =>
    Effect.gen(function* () {
      const { container, template } = Overlay.manager(rendered)
      const mover = environmentOf(container).HOMEOSTAT_BACKUP_MOVER_IMAGE
      expect([container.image, mover]).toEqual([`homeostat:${program.version}`, `homeostat-mover:${program.version}`])
      const read = (path: string) => Effect.promise(() => Bun.file(join(Overlay.folder, path)).text())
      const [dockerfile, moverDockerfile] = yield* Effect.all([read("Dockerfile"), read("mover/Dockerfile")])
      expect(dockerfile).toContain(`--tag registry.example.com/${container.image} `)
      expect(moverDockerfile).toContain(`--tag registry.example.com/${mover} `)
      const { runAsGroup, runAsNonRoot, runAsUser } = template.spec?.securityContext ?? {}
      expect([runAsNonRoot, runAsUser, runAsGroup]).toEqual([true, undefined, undefined])
      // The user must be a number: the kubelet rejects a pod with `runAsNonRoot` whose image has a user name.
      for (const file of [dockerfile, moverDockerfile]) expect(file).toMatch(/^USER 65532:65532$/m)
    })
  )

  each("has a read-only root, a memory limit, and enough time for the shutdown of the manager", (rendered) => {
    const { container, template } = Overlay.manager(rendered)
    expect(container.securityContext?.readOnlyRootFilesystem).toBe(true)
    expect(container.resources).toMatchObject({
      requests: { cpu: "50m", memory: "128Mi" },
      limits: { memory: "512Mi" }
    })
    expect(container.resources?.limits?.cpu).toBeUndefined()
    expect(container.env).toContainEqual({
      name: "BUN_JSC_forceRAMSize",
      valueFrom: { resourceFieldRef: { resource: "limits.memory" } }
    })
    const { "graceful-shutdown-timeout": grace } = settingsOf(container)
    if (!Duration.isDuration(grace)) throw new Error("--graceful-shutdown-timeout is no duration")
    // After the grace period, cleanup takes 5 s, Events and the Lease take 3 s each, and spans take 0.5 s.
    expect(template.spec?.terminationGracePeriodSeconds).toBeGreaterThan(Duration.toSeconds(grace) + 5 + 3 + 3 + 0.5)
  })

  only(
    "high-availability",
    "keeps two of three replicas during the drain of a node, and spreads them over nodes",
    (rendered) => {
      const { deployment, template } = Overlay.manager(rendered)
      const budget = rendered.one<BuiltIn.PodDisruptionBudget>("PodDisruptionBudget")
      expect(deployment.spec?.replicas).toBe(3)
      expect(budget.spec?.maxUnavailable).toBe(1)
      const { labels } = template.metadata ?? {}
      expect(selects(budget.spec?.selector?.matchLabels, labels)).toBe(true)
      const spread = template.spec?.topologySpreadConstraints ?? []
      expect(spread.map(({ topologyKey, whenUnsatisfiable }) => [topologyKey, whenUnsatisfiable])).toEqual([
        ["kubernetes.io/hostname", "DoNotSchedule"],
        ["topology.kubernetes.io/zone", "ScheduleAnyway"]
      ])
      for (const { labelSelector } of spread) expect(selects(labelSelector?.matchLabels, labels)).toBe(true)
    }
  )

  only("high-availability", "limits the ServiceAccount of its manager by every policy", (rendered) => {
    const account = Overlay.manager(rendered).template.spec?.serviceAccountName
    const policies = rendered.all.filter(({ kind }) => kind === "ValidatingAdmissionPolicy")
    expect(policies.length).toBeGreaterThan(5)
    const ofManager = {
      name: "manager",
      expression: `request.userInfo.username.matches('^system:serviceaccount:[^:]+:${account}$')`
    }
    // The Jobs of WebApps are not movers.
    const jobs = (expression: RegExp) => [ofManager, { name: "objects", expression: expect.stringMatching(expression) }]
    const conditions = new Map([
      ["homeostat-movers", jobs(/^!.*r\.kind == 'WebApp'\)$/)],
      ["homeostat-webappjobs", jobs(/^[^!].*r\.kind == 'WebApp'\)$/)]
    ])
    for (const { metadata } of policies) {
      const matchConditions = conditions.get(metadata.name) ?? [ofManager]
      expect(rendered.one("ValidatingAdmissionPolicy", metadata.name)).toMatchObject({
        spec: { failurePolicy: "Fail", matchConditions }
      })
      expect(rendered.one("ValidatingAdmissionPolicyBinding", metadata.name)).toMatchObject({
        spec: { policyName: metadata.name, validationActions: ["Deny"] }
      })
    }
  })

  only("tracing", "sends traces to the Service of Jaeger, and its NetworkPolicy allows them", (rendered) => {
    const environment = environmentOf(Overlay.manager(rendered).container)
    const { hostname, port } = new URL(environment.OTEL_EXPORTER_OTLP_ENDPOINT ?? "")
    const { spec: service } = rendered.one<BuiltIn.Service>("Service", hostname)
    const jaeger = rendered.one<{ readonly spec: { readonly template: PodTemplate } }>("Deployment", "jaeger")
    const { labels } = jaeger.spec.template.metadata ?? {}
    const [container] = jaeger.spec.template.spec?.containers ?? []
    expect(container?.image).toBe(`jaegertracing/all-in-one:${/jaegertracing\/jaeger v(\S+)/.exec(built)?.[1]}`)
    expect(selects(service?.selector, labels)).toBe(true)
    const target = service?.ports?.find((each) => String(each.port) === port)?.targetPort
    expect(container && portNamed(container, target)).toBe(Number(port))
    const { egress } = rendered.one<NetworkPolicy>("NetworkPolicy", "homeostat").spec
    const allowed = egress.filter(({ to = [] }) =>
      to.some(({ podSelector }) => selects(podSelector?.matchLabels, labels))
    )
    expect(allowed.flatMap(({ ports }) => ports.map(({ port }) => port))).toEqual([Number(port)])
    // Jaeger does not authenticate requests. Only the manager may send traces, and no pod may read them.
    const fence = rendered.one<NetworkPolicy>("NetworkPolicy", "jaeger").spec
    expect(selects(fence.podSelector.matchLabels, labels)).toBe(true)
    const managers = [{ key: "app.kubernetes.io/name", operator: "In", values: ["homeostat"] }]
    const from = [{ podSelector: { matchExpressions: managers } }]
    expect(fence.ingress).toEqual([{ from, ports: [{ port: Number(port), protocol: "TCP" }] }])
    expect(Overlay.manager(rendered).template.metadata?.labels).toMatchObject({ "app.kubernetes.io/name": "homeostat" })
    expect(environment).toMatchObject({ POD_NAME: "metadata.name", POD_NAMESPACE: "metadata.namespace" })
  })

  only("monitoring", "lets Prometheus find the Service, with a token that may read the metrics", (rendered) => {
    const monitor = rendered.one<Monitor>("ServiceMonitor")
    const service = rendered.one<BuiltIn.Service>("Service", "homeostat-metrics")
    const [endpoint] = monitor.spec.endpoints
    expect(selects(monitor.spec.selector.matchLabels, service.metadata.labels)).toBe(true)
    expect(monitor.metadata.namespace).toBe(service.metadata.namespace)
    expect(service.spec?.ports?.map(({ name }) => name)).toContain(endpoint?.port)
    const token = endpoint?.authorization?.credentials
    expect([endpoint?.scheme, token?.key]).toEqual(["https", "token"])
    const secret = rendered.one<BuiltIn.Secret>("Secret", token?.name)
    const account = secret.metadata.annotations?.["kubernetes.io/service-account.name"]
    const binding = rendered.one<BuiltIn.ClusterRoleBinding>("ClusterRoleBinding", "homeostat-metrics-reader")
    expect(binding.subjects).toMatchObject([{ name: account, namespace: secret.metadata.namespace }])
    const role = rendered.one<BuiltIn.ClusterRole>("ClusterRole", binding.roleRef.name)
    expect(role.rules).toEqual([{ nonResourceURLs: ["/metrics"], verbs: ["get"] }])
    // The rules and the dashboard select this job.
    expect(service.metadata.labels?.["app.kubernetes.io/name"]).toBe("homeostat")
    expect(rendered.one<BuiltIn.ConfigMap>("ConfigMap").data?.["homeostat.json"]).toContain('"panels"')
  })
})

live(
  "manifests --image prints all objects of the default overlay except the NetworkPolicy and the roles for users",
  () =>
    Effect.gen(function* () {
      const flags = ["--leader-elect", "--metrics-secure", "--image=homeostat"]
      const { stdout } = yield* Binary.run(["manifests", ...flags], Binary.bare("/"))
      const { all } = yield* Overlay.render(Overlay.path("default"))
      const named = (objects: ReadonlyArray<Overlay.Manifest>) =>
        objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`)
      const printed = named(loadAll(stdout) as ReadonlyArray<Overlay.Manifest>)
      const left = named(all).filter((name) => !printed.includes(name))
      expect(left.toSorted()).toEqual([
        "ClusterRole homeostat-edit",
        "ClusterRole homeostat-loglevel-writer",
        "ClusterRole homeostat-metrics-reader",
        "ClusterRole homeostat-recording-reader",
        "ClusterRole homeostat-view",
        "ClusterRole homeostat-why-reader",
        "NetworkPolicy homeostat"
      ])
    }),
  60_000
)
