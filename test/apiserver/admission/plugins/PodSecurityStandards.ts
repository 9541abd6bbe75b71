/** The Pod Security Standards: the checks of each level and version. */
import type { Check, Template, Violation } from "./PodSecurityChecks.ts"
import * as Checks from "./PodSecurityChecks.ts"

/** The levels, from the least strict to the strictest. */
export const levels = ["privileged", "baseline", "restricted"] as const

/** A level of the standards. */
export type Level = (typeof levels)[number]

/** The minor version of the latest standards. */
export const latest = 37

/** A version of a check. */
interface Versioned {
  readonly id: string
  readonly level: "baseline" | "restricted"
  /** The first minor version of Kubernetes with this version of the check. */
  readonly since: number
  readonly check: Check
  /** The baseline check that it replaces at the level restricted. */
  readonly replaces?: string
}

const selinuxTypes = ["", "container_t", "container_init_t", "container_kvm_t"]
const safeSysctls = [
  "kernel.shm_rmid_forced",
  "net.ipv4.ip_local_port_range",
  "net.ipv4.tcp_syncookies",
  "net.ipv4.ping_group_range",
  "net.ipv4.ip_unprivileged_port_start"
]
const laterSysctls: ReadonlyArray<readonly [since: number, names: ReadonlyArray<string>]> = [
  [0, safeSysctls],
  [27, ["net.ipv4.ip_local_reserved_ports"]],
  [
    29,
    [
      "net.ipv4.tcp_keepalive_time",
      "net.ipv4.tcp_fin_timeout",
      "net.ipv4.tcp_keepalive_intvl",
      "net.ipv4.tcp_keepalive_probes"
    ]
  ],
  [32, ["net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"]],
  [37, ["net.ipv4.tcp_slow_start_after_idle", "net.ipv4.tcp_notsent_lowat"]]
]

const baseline = (id: string, since: number, check: Check): Versioned => ({ id, level: "baseline", since, check })
const restricted = (id: string, since: number, check: Check, replaces?: string): Versioned => ({
  id,
  level: "restricted",
  since,
  check,
  ...(replaces !== undefined && { replaces })
})

/** All checks, with the versions of each check in ascending order. */
const versions: ReadonlyArray<Versioned> = [
  baseline("appArmorProfile", 0, Checks.appArmor),
  baseline("capabilities_baseline", 0, Checks.capabilities),
  baseline("hostNamespaces", 0, Checks.hostNamespaces),
  baseline("hostPathVolumes", 0, Checks.hostPaths),
  baseline("hostPorts", 0, Checks.hostPorts),
  baseline("hostProbesAndHostLifecycle", 34, Checks.hostProbes),
  baseline("privileged", 0, Checks.privileged),
  baseline("procMount", 0, Checks.procMount),
  baseline("procMount", 35, Checks.notInUserNamespace(Checks.procMount)),
  baseline("seLinuxOptions", 0, Checks.seLinux(new Set(selinuxTypes))),
  baseline("seLinuxOptions", 31, Checks.seLinux(new Set([...selinuxTypes, "container_engine_t"]))),
  baseline("seccompProfile_baseline", 0, Checks.seccompAnnotations),
  baseline("seccompProfile_baseline", 19, Checks.seccomp),
  ...laterSysctls.map(([since], index) =>
    baseline("sysctls", since, Checks.sysctls(new Set(laterSysctls.slice(0, index + 1).flatMap(([, names]) => names))))
  ),
  baseline("windowsHostProcess", 0, Checks.hostProcess),
  restricted("allowPrivilegeEscalation", 8, Checks.escalation),
  restricted("allowPrivilegeEscalation", 25, Checks.notOnWindows(Checks.escalation)),
  restricted("capabilities_restricted", 22, Checks.restrictedCapabilities, "capabilities_baseline"),
  restricted(
    "capabilities_restricted",
    25,
    Checks.notOnWindows(Checks.restrictedCapabilities),
    "capabilities_baseline"
  ),
  restricted("procMount_restricted", 35, Checks.procMount, "procMount"),
  restricted("restrictedVolumes", 0, Checks.volumes, "hostPathVolumes"),
  restricted("runAsNonRoot", 0, Checks.nonRoot),
  restricted("runAsNonRoot", 35, Checks.notInUserNamespace(Checks.nonRoot)),
  restricted("runAsUser", 23, Checks.user),
  restricted("runAsUser", 35, Checks.notInUserNamespace(Checks.user)),
  restricted("seccompProfile_restricted", 19, Checks.restrictedSeccomp, "seccompProfile_baseline"),
  restricted("seccompProfile_restricted", 25, Checks.notOnWindows(Checks.restrictedSeccomp), "seccompProfile_baseline")
]

/** The violations of a level in a minor version, in the order of a kube-apiserver. */
export const violations = (level: Level, minor: number, template: Template): ReadonlyArray<Violation> => {
  if (level === "privileged") return []
  const current = new Map<string, Versioned>()
  for (const each of versions) {
    if (each.since <= Math.min(minor, latest) && (level === "restricted" || each.level === "baseline")) {
      current.set(each.id, each)
    }
  }
  const replaced = new Set([...current.values()].map(({ replaces }) => replaces))
  return [...current.values()].flatMap(({ check, id }) => {
    const violation = replaced.has(id) ? undefined : check(template)
    return violation === undefined ? [] : [violation]
  })
}
