/** The restricted Pod Security level, as of Kubernetes 1.37, for pods without init and ephemeral containers. */
import type * as Usage from "../volumes/Usage.ts"

const volumes = [
  "configMap",
  "csi",
  "downwardAPI",
  "emptyDir",
  "ephemeral",
  "persistentVolumeClaim",
  "projected",
  "secret"
]

/** The violations of a pod, including the rules of baseline. */
export const restricted = (spec: Usage.PodSpec): ReadonlyArray<string> => {
  const found: Array<string> = []
  const forbid = (what: string, is: boolean) => {
    if (is) found.push(what)
  }
  const pod = spec.securityContext
  forbid("hostNetwork", spec.hostNetwork === true)
  forbid("hostPID", spec.hostPID === true)
  forbid("hostIPC", spec.hostIPC === true)
  forbid("sysctls", (pod?.sysctls ?? []).length > 0)
  forbid("a type of SELinux", pod?.seLinuxOptions !== undefined)
  for (const volume of spec.volumes ?? []) {
    const kind = Object.keys(volume).find((key) => key !== "name") ?? ""
    forbid(`volume ${volume.name} is of ${kind}`, !volumes.includes(kind))
  }
  for (const container of spec.containers) {
    const own = container.securityContext
    const capabilities = own?.capabilities
    forbid("runAsNonRoot is not true", (own?.runAsNonRoot ?? pod?.runAsNonRoot) !== true)
    forbid("runAsUser is 0", (own?.runAsUser ?? pod?.runAsUser) === 0)
    forbid("privileged", own?.privileged === true)
    forbid("procMount", own?.procMount !== undefined && own.procMount !== "Default")
    forbid("allowPrivilegeEscalation is not false", own?.allowPrivilegeEscalation !== false)
    forbid("not all capabilities are dropped", capabilities?.drop?.includes("ALL") !== true)
    forbid(
      "adds capabilities",
      (capabilities?.add ?? []).some((name) => name !== "NET_BIND_SERVICE")
    )
    const seccomp = own?.seccompProfile?.type ?? pod?.seccompProfile?.type
    forbid("seccompProfile is not set", seccomp !== "RuntimeDefault" && seccomp !== "Localhost")
    forbid(
      "a profile of AppArmor that confines nothing",
      (own?.appArmorProfile ?? pod?.appArmorProfile)?.type === "Unconfined"
    )
    for (const port of container.ports ?? []) forbid("hostPort", (port.hostPort ?? 0) !== 0)
  }
  return found
}
