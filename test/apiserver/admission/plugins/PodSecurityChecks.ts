/** The checks of the Pod Security Standards, with the messages of a kube-apiserver. */
import { at, isObject, type Json, type JsonObject, object, objects, text, texts } from "../../model/Json.ts"

/** The violation of a check, with its reason and details. */
export interface Violation {
  readonly reason: string
  readonly detail: string
}

/** The metadata and the spec of a pod or a pod template. */
export interface Template {
  readonly metadata: JsonObject
  readonly spec: JsonObject
}

/** A check of a pod or a template. Returns undefined for a pod without a violation. */
export type Check = (template: Template) => Violation | undefined

const quoted = (items: Iterable<string>): string => Array.from(items, (item) => `"${item}"`).join(", ")

const plural = (word: string, count: number): string => (count === 1 ? word : `${word}s`)

const containersNamed = (names: ReadonlyArray<string>): string =>
  `${plural("container", names.length)} ${quoted(names)}`

const use = (count: number): string => (count === 1 ? "uses" : "use")

const containersOf = ({ spec }: Template): ReadonlyArray<JsonObject> =>
  ["initContainers", "containers", "ephemeralContainers"].flatMap((list) => objects(spec[list]))

const nameOf = ({ name }: JsonObject): string => text(name) ?? ""

const contextOf = (holder: JsonObject): JsonObject => object(holder.securityContext)

const sorted = (values: Iterable<string>): ReadonlyArray<string> => [...new Set(values)].sort()

/** The containers with values, and the values. */
const found = (template: Template, valuesOf: (container: JsonObject) => ReadonlyArray<string>) => {
  const each = containersOf(template).map((container) => ({ name: nameOf(container), values: valuesOf(container) }))
  const bad = each.filter(({ values }) => values.length > 0)
  return { names: bad.map(({ name }) => name), values: sorted(bad.flatMap(({ values }) => values)) }
}

const containersThat = (template: Template, holds: (container: JsonObject) => boolean): ReadonlyArray<string> =>
  containersOf(template).filter(holds).map(nameOf)

/** The holders of a forbidden security context, such as `pod and containers "a", "b"`; empty if there are none. */
const holders = (isPod: boolean, containers: ReadonlyArray<string>): string =>
  [...(isPod ? ["pod"] : []), ...(containers.length === 0 ? [] : [containersNamed(containers)])].join(" and ")

/** Wraps a check that does not apply to Windows pods. */
export const notOnWindows =
  (check: Check): Check =>
  (template) =>
    at(template.spec, "os", "name") === "windows" ? undefined : check(template)

/** Wraps a check that does not apply to pods with a user namespace. */
export const notInUserNamespace =
  (check: Check): Check =>
  (template) =>
    template.spec.hostUsers === false ? undefined : check(template)

/** AppArmor must not be disabled. */
export const appArmor: Check = (template) => {
  const isAllowed = (type: string) => type === "RuntimeDefault" || type === "Localhost"
  const typesOf = (holder: JsonObject): ReadonlyArray<string> => {
    const profile = contextOf(holder).appArmorProfile
    const type = text(at(profile, "type")) ?? ""
    return isObject(profile) && !isAllowed(type) ? [type] : []
  }
  const ofPod = typesOf(template.spec)
  const { names, values } = found(template, typesOf)
  const annotations = Object.entries(texts(template.metadata.annotations))
    .filter(([key]) => key.startsWith("container.apparmor.security.beta.kubernetes.io/"))
    .filter(([, value]) => value !== "" && value !== "runtime/default" && !value.startsWith("localhost/"))
    .map(([key, value]) => `${key}="${value}"`)
    .sort()
  const setters = [
    holders(ofPod.length > 0, names),
    annotations.length === 0 ? "" : plural("annotation", annotations.length)
  ].filter((each) => each !== "")
  const all = [...sorted([...ofPod, ...values]), ...annotations]
  return setters.length === 0
    ? undefined
    : {
        reason: plural("forbidden AppArmor profile", all.length),
        detail: `${setters.join(" and ")} must not set AppArmor profile type to ${quoted(all)}`
      }
}

const defaultCapabilities = new Set([
  "AUDIT_WRITE",
  "CHOWN",
  "DAC_OVERRIDE",
  "FOWNER",
  "FSETID",
  "KILL",
  "MKNOD",
  "NET_BIND_SERVICE",
  "SETFCAP",
  "SETGID",
  "SETPCAP",
  "SETUID",
  "SYS_CHROOT"
])

const strings = (value: Json | undefined): ReadonlyArray<string> =>
  Array.isArray(value) ? value.filter((each): each is string => typeof each === "string") : []

const addedBy = (container: JsonObject): ReadonlyArray<string> =>
  strings(at(contextOf(container), "capabilities", "add"))

const adding = ({ names, values }: ReturnType<typeof found>): string =>
  `${containersNamed(names)} must not include ${quoted(values)} in securityContext.capabilities.add`

/** Containers must not add capabilities beyond the default ones. */
export const capabilities: Check = (template) => {
  const bad = found(template, (container) => addedBy(container).filter((each) => !defaultCapabilities.has(each)))
  return bad.names.length === 0 ? undefined : { reason: "non-default capabilities", detail: adding(bad) }
}

/** Containers must drop all capabilities, and may add NET_BIND_SERVICE. */
export const restrictedCapabilities: Check = (template) => {
  const keeping = containersThat(
    template,
    (container) => !strings(at(contextOf(container), "capabilities", "drop")).includes("ALL")
  )
  const bad = found(template, (container) => addedBy(container).filter((each) => each !== "NET_BIND_SERVICE"))
  const details = [
    ...(keeping.length === 0 ? [] : [`${containersNamed(keeping)} must set securityContext.capabilities.drop=["ALL"]`]),
    ...(bad.names.length === 0 ? [] : [adding(bad)])
  ]
  return details.length === 0 ? undefined : { reason: "unrestricted capabilities", detail: details.join("; ") }
}

/** The pod must not use host namespaces. */
export const hostNamespaces: Check = ({ spec }) => {
  const set = ["hostNetwork", "hostPID", "hostIPC"].filter((field) => spec[field] === true)
  return set.length === 0
    ? undefined
    : { reason: "host namespaces", detail: set.map((field) => `${field}=true`).join(", ") }
}

/** The pod must not use hostPath volumes. */
export const hostPaths: Check = ({ spec }) => {
  const names = objects(spec.volumes)
    .filter(({ hostPath }) => isObject(hostPath))
    .map(nameOf)
  return names.length === 0
    ? undefined
    : { reason: "hostPath volumes", detail: `${plural("volume", names.length)} ${quoted(names)}` }
}

/** Containers must not use host ports. */
export const hostPorts: Check = (template) => {
  const { names, values } = found(template, ({ ports }) =>
    objects(ports).flatMap(({ hostPort }) => (typeof hostPort === "number" && hostPort !== 0 ? [`${hostPort}`] : []))
  )
  return names.length === 0
    ? undefined
    : {
        reason: "hostPort",
        detail: `${containersNamed(names)} ${use(names.length)} ${plural("hostPort", values.length)} ${values.join(", ")}`
      }
}

/** Probes and hooks must not name a host. */
export const hostProbes: Check = (template) => {
  const hosts = (handler: Json | undefined) =>
    ["httpGet", "tcpSocket"].flatMap((action) => {
      const host = text(at(handler, action, "host")) ?? ""
      return host === "" ? [] : [host]
    })
  const { names, values } = found(template, ({ lifecycle, livenessProbe, readinessProbe, startupProbe }) =>
    [livenessProbe, readinessProbe, startupProbe, at(lifecycle, "postStart"), at(lifecycle, "preStop")].flatMap(hosts)
  )
  return names.length === 0
    ? undefined
    : {
        reason: "probe or lifecycle host",
        detail: `${containersNamed(sorted(names))} ${use(names.length)} ${plural("probe or lifecycle host", values.length)} ${quoted(values)}`
      }
}

/** Containers must not be privileged. */
export const privileged: Check = (template) => {
  const names = containersThat(template, (container) => contextOf(container).privileged === true)
  return names.length === 0
    ? undefined
    : { reason: "privileged", detail: `${containersNamed(names)} must not set securityContext.privileged=true` }
}

/** Containers must not unmask /proc. */
export const procMount: Check = (template) => {
  const { names, values } = found(template, (container) => {
    const type = text(contextOf(container).procMount)
    return type === undefined || type === "Default" ? [] : [type]
  })
  return names.length === 0
    ? undefined
    : {
        reason: "procMount",
        detail: `${containersNamed(names)} must not set securityContext.procMount to ${quoted(values)}`
      }
}

/** SELinux must have one of these types, and no user or role. */
export const seLinux =
  (types: ReadonlySet<string>): Check =>
  (template) => {
    const wrong = new Set<string>()
    let hasUser = false
    let hasRole = false
    const isBad = (holder: JsonObject): boolean => {
      const { role, type, user } = texts(contextOf(holder).seLinuxOptions)
      if (!types.has(type ?? "")) wrong.add(type ?? "")
      const [ownUser, ownRole] = [(user ?? "") !== "", (role ?? "") !== ""]
      hasUser ||= ownUser
      hasRole ||= ownRole
      return !types.has(type ?? "") || ownUser || ownRole
    }
    const setters = holders(isBad(template.spec), containersThat(template, isBad))
    const data = [
      ...(wrong.size === 0 ? [] : [`${plural("type", wrong.size)} ${quoted(sorted(wrong))}`]),
      ...(hasUser ? ["user may not be set"] : []),
      ...(hasRole ? ["role may not be set"] : [])
    ]
    return setters === ""
      ? undefined
      : {
          reason: "seLinuxOptions",
          detail: `${setters} set forbidden securityContext.seLinuxOptions: ${data.join("; ")}`
        }
  }

/** The deprecated annotations must not disable seccomp. */
export const seccompAnnotations: Check = (template) => {
  const keys = [
    "seccomp.security.alpha.kubernetes.io/pod",
    ...containersOf(template).map((container) => `container.seccomp.security.alpha.kubernetes.io/${nameOf(container)}`)
  ]
  const annotations = texts(template.metadata.annotations)
  const forbidden = sorted(
    keys.flatMap((key) => {
      const value = annotations[key]
      return value === undefined ||
        value === "runtime/default" ||
        value === "docker/default" ||
        value.startsWith("localhost/")
        ? []
        : [`${key}="${value}"`]
    })
  )
  return forbidden.length === 0
    ? undefined
    : {
        reason: "seccompProfile",
        detail: `forbidden ${plural("annotation", forbidden.length)} ${forbidden.join(", ")}`
      }
}

/** The forbidden types of a holder's seccomp profile; undefined if the holder has no profile. */
const seccompOf = (holder: JsonObject): ReadonlyArray<string> | undefined => {
  const profile = contextOf(holder).seccompProfile
  if (!isObject(profile)) return undefined
  const type = text(profile.type) ?? ""
  return type === "RuntimeDefault" || type === "Localhost" ? [] : [type]
}

/** seccomp must not be disabled. */
export const seccomp: Check = (template) => {
  const ofPod = seccompOf(template.spec) ?? []
  const { names, values } = found(template, (container) => seccompOf(container) ?? [])
  const setters = holders(ofPod.length > 0, names)
  return setters === ""
    ? undefined
    : {
        reason: "seccompProfile",
        detail: `${setters} must not set securityContext.seccompProfile.type to ${quoted(sorted([...ofPod, ...values]))}`
      }
}

/** The pod or each container must set a seccomp profile. */
export const restrictedSeccomp: Check = (template) => {
  const bad = seccomp(template)
  if (bad !== undefined) return bad
  if (seccompOf(template.spec) !== undefined) return undefined
  const names = containersThat(template, (container) => seccompOf(container) === undefined)
  return names.length === 0
    ? undefined
    : {
        reason: "seccompProfile",
        detail: `pod or ${containersNamed(names)} must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"`
      }
}

/** The pod may set only these sysctls. */
export const sysctls =
  (allowed: ReadonlySet<string>): Check =>
  ({ spec }) => {
    const names = objects(contextOf(spec).sysctls)
      .map(nameOf)
      .filter((name) => !allowed.has(name))
    return names.length === 0 ? undefined : { reason: "forbidden sysctls", detail: names.join(", ") }
  }

/** Windows containers must not be host processes. */
export const hostProcess: Check = (template) => {
  const isSet = (holder: JsonObject): boolean => at(contextOf(holder), "windowsOptions", "hostProcess") === true
  const setters = holders(isSet(template.spec), containersThat(template, isSet))
  return setters === ""
    ? undefined
    : { reason: "hostProcess", detail: `${setters} must not set securityContext.windowsOptions.hostProcess=true` }
}

/** Containers must disallow privilege escalation. */
export const escalation: Check = (template) => {
  const names = containersThat(template, (container) => contextOf(container).allowPrivilegeEscalation !== false)
  return names.length === 0
    ? undefined
    : {
        reason: "allowPrivilegeEscalation != false",
        detail: `${containersNamed(names)} must set securityContext.allowPrivilegeEscalation=false`
      }
}

const volumeTypes = new Set([
  "configMap",
  "csi",
  "downwardAPI",
  "emptyDir",
  "ephemeral",
  "image",
  "persistentVolumeClaim",
  "projected",
  "secret"
])

/** The pod must use only volumes of {@link volumeTypes}. */
export const volumes: Check = ({ spec }) => {
  const bad = objects(spec.volumes).flatMap((volume) => {
    const types = Object.keys(volume).filter((field) => isObject(volume[field]))
    return types.some((type) => volumeTypes.has(type)) ? [] : [{ name: nameOf(volume), type: types[0] ?? "unknown" }]
  })
  const types = sorted(bad.map(({ type }) => type))
  return bad.length === 0
    ? undefined
    : {
        reason: "restricted volume types",
        detail: `${plural("volume", bad.length)} ${quoted(bad.map(({ name }) => name))} ${use(bad.length)} ${plural("restricted volume type", types.length)} ${quoted(types)}`
      }
}

/** The pod or each container must set runAsNonRoot. */
export const nonRoot: Check = (template) => {
  const isNonRoot = (holder: JsonObject) => contextOf(holder).runAsNonRoot
  const explicit = holders(
    isNonRoot(template.spec) === false,
    containersThat(template, (container) => isNonRoot(container) === false)
  )
  const reason = "runAsNonRoot != true"
  if (explicit !== "") return { reason, detail: `${explicit} must not set securityContext.runAsNonRoot=false` }
  if (isNonRoot(template.spec) === true) return undefined
  const names = containersThat(template, (container) => typeof isNonRoot(container) !== "boolean")
  return names.length === 0
    ? undefined
    : { reason, detail: `pod or ${containersNamed(names)} must set securityContext.runAsNonRoot=true` }
}

/** Neither the pod nor a container may run as user 0. */
export const user: Check = (template) => {
  const isRoot = (holder: JsonObject): boolean => contextOf(holder).runAsUser === 0
  const setters = holders(isRoot(template.spec), containersThat(template, isRoot))
  return setters === "" ? undefined : { reason: "runAsUser=0", detail: `${setters} must not set runAsUser=0` }
}
