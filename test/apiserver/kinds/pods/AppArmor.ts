/** AppArmor profiles in deprecated annotations: `container.apparmor.security.beta.kubernetes.io/NAME: localhost/PROFILE`. */
import { at, copy, type DraftObject, equal, isObject, type JsonObject, member, texts } from "../../model/Json.ts"
import { drafts } from "../Definition.ts"

const prefix = "container.apparmor.security.beta.kubernetes.io/"

/** The `appArmorProfile` of an annotation value, or `undefined` if the value is not a profile. */
const profileOf = (value: string): JsonObject | undefined => {
  if (value === "unconfined") return { type: "Unconfined" }
  if (value === "runtime/default") return { type: "RuntimeDefault" }
  const [, localhostProfile] = /^localhost\/(.+)$/.exec(value) ?? []
  return localhostProfile === undefined ? undefined : { type: "Localhost", localhostProfile }
}

/**
 * The warning about the annotation of a container that lacks the field.
 * Returns `undefined` without an annotation, or if the Pod has the same profile.
 */
export const warning = (path: string, pod: JsonObject, container: JsonObject): string | undefined => {
  const key = `${prefix}${container.name}`
  const value = texts(at(pod, "metadata", "annotations"))[key]
  if (value === undefined || at(container, "securityContext", "appArmorProfile") !== undefined) return undefined
  const ofPod = at(pod, "spec", "securityContext", "appArmorProfile")
  const profile = profileOf(value)
  return profile !== undefined && isObject(ofPod) && equal(ofPod, profile)
    ? undefined
    : `${path}metadata.annotations[${key}]: deprecated since v1.30; use the "appArmorProfile" field instead`
}

/** Copies the annotations of a new Pod to the fields of its containers, and warns about each. */
export const sync = (pod: DraftObject, warn: (text: string) => void): void => {
  if (at(pod, "spec", "os", "name") === "windows") return
  for (const list of ["initContainers", "containers", "ephemeralContainers"]) {
    for (const container of drafts(member(pod, "spec"), list)) {
      const text = warning("", pod, container)
      if (text === undefined) continue
      warn(text)
      const profile = profileOf(texts(at(pod, "metadata", "annotations"))[`${prefix}${container.name}`] ?? "")
      if (profile !== undefined) member(container, "securityContext").appArmorProfile = copy(profile)
    }
  }
}
