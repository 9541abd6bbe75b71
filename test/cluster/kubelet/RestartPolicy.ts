/**
 * The restart policy of containers. An init container with `restartPolicy: Always` is a sidecar: it keeps running beside the containers of
 * the pod, and ends after them.
 */
import type { Pod } from "@homeostat/runtime/resource/BuiltIn"
import type { Container } from "./Environment.ts"

/** Whether this container of the pod is a sidecar. */
export const isSidecar = ({ spec }: Pod, name: string): boolean =>
  (spec?.initContainers ?? []).some((container) => container.name === name && container.restartPolicy === "Always")

/** Whether a container restarts after an exit with this code. The policy of the container overrides that of the pod. */
export const restarts = (pod: Pod, container: Container, exitCode: number): boolean => {
  const { spec } = pod
  const isInit = (spec?.initContainers ?? []).some(({ name }) => name === container.name)
  const policy = container.restartPolicy ?? spec?.restartPolicy ?? "Always"
  if (policy === "Always") return exitCode !== 0 || !isInit || isSidecar(pod, container.name)
  return policy === "OnFailure" && exitCode !== 0
}
