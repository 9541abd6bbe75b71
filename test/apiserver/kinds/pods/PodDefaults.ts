/**
 * The defaults of Pods and Pod templates. Each function writes them into the draft.
 */
import type { DraftObject } from "../../model/Json.ts"
import * as Json from "../../model/Json.ts"
import * as Quantity from "../../model/Quantity.ts"
import { drafts, fill, part } from "../Definition.ts"
import * as Image from "./Image.ts"

/** Sets the defaults of a Pod template, if it has a `spec`. */
export const template = (draft: DraftObject | undefined): void => {
  const found = part(draft, "spec")
  if (found !== undefined) spec(found)
}

/** Sets the `spec` defaults that Pods and templates share. */
export const spec = (draft: DraftObject): void => {
  for (const volume of drafts(draft, "volumes")) fillVolume(volume)
  for (const name of containerLists) for (const container of drafts(draft, name)) fillContainer(container)
  const account = Json.text(draft.serviceAccountName) ?? Json.text(draft.serviceAccount)
  if (account !== undefined) {
    draft.serviceAccountName = account
    draft.serviceAccount = account
  }
  fill(draft, "dnsPolicy", "ClusterFirst")
  fill(draft, "restartPolicy", "Always")
  fill(draft, "securityContext", {})
  fill(draft, "terminationGracePeriodSeconds", 30)
  fill(draft, "schedulerName", "default-scheduler")
  roundUp(part(draft, "overhead"))
  for (const name of ["limits", "requests"]) roundUp(part(part(draft, "resources"), name))
}

/** Sets the defaults of a Pod: those of a template, and those that only Pods have. */
export const pod = (draft: DraftObject): void => {
  const podSpec = part(draft, "spec")
  if (podSpec === undefined) return
  spec(podSpec)
  if ((Json.number(podSpec.terminationGracePeriodSeconds) ?? 0) < 0) podSpec.terminationGracePeriodSeconds = 1
  for (const name of ["containers", "initContainers"]) {
    for (const container of drafts(podSpec, name)) {
      requestLimits(container)
      if (podSpec.hostNetwork === true) {
        for (const port of drafts(container, "ports")) fill(port, "hostPort", port.containerPort ?? 0)
      }
    }
  }
  fill(podSpec, "enableServiceLinks", true)
}

/** Synchronizes `podIP` with the first item of `podIPs`. `podIP` wins. */
export const status = (draft: DraftObject): void => {
  const found = part(draft, "status")
  if (found === undefined) return
  const ip = Json.text(found.podIP)
  const first = Json.objects(found.podIPs)[0]
  if (ip === undefined && first?.ip !== undefined) found.podIP = Json.text(first.ip)
  else if (ip !== undefined && first?.ip !== ip) found.podIPs = [{ ip }]
}

/** The container lists of a Pod `spec`. */
const containerLists: ReadonlyArray<string> = ["containers", "initContainers", "ephemeralContainers"]

/** Rounds the quantities of a resource list up to thousandths, in place. */
export const roundUp = (resources: DraftObject | undefined): void => {
  for (const name in resources) {
    const amount = resources[name]
    if (typeof amount === "string") resources[name] = Quantity.milli(amount)
  }
}

const fillContainer = (container: DraftObject): void => {
  fill(container, "imagePullPolicy", Image.pullPolicy(Json.text(container.image) ?? ""))
  fill(container, "terminationMessagePath", "/dev/termination-log")
  fill(container, "terminationMessagePolicy", "File")
  for (const port of drafts(container, "ports")) fill(port, "protocol", "TCP")
  for (const variable of drafts(container, "env")) {
    const from = part(variable, "valueFrom")
    fillFieldRef(from)
    const file = part(from, "fileKeyRef")
    if (file !== undefined) fill(file, "optional", false)
  }
  for (const name of ["limits", "requests"]) roundUp(part(part(container, "resources"), name))
  for (const name of ["livenessProbe", "readinessProbe", "startupProbe"]) fillProbe(part(container, name))
  for (const name of ["postStart", "preStop"]) fillHttpGet(part(part(container, "lifecycle"), name))
}

const fillProbe = (probe: DraftObject | undefined): void => {
  if (probe === undefined) return
  fill(probe, "timeoutSeconds", 1)
  fill(probe, "periodSeconds", 10)
  fill(probe, "successThreshold", 1)
  fill(probe, "failureThreshold", 3)
  fillHttpGet(probe)
  const grpc = part(probe, "grpc")
  if (grpc !== undefined && typeof grpc.service !== "string") grpc.service = ""
}

const fillHttpGet = (handler: DraftObject | undefined): void => {
  const get = part(handler, "httpGet")
  if (get === undefined) return
  fill(get, "path", "/")
  fill(get, "scheme", "HTTP")
}

const fillFieldRef = (holder: DraftObject | undefined): void => {
  const reference = part(holder, "fieldRef")
  if (reference !== undefined) fill(reference, "apiVersion", "v1")
}

const requestLimits = (container: DraftObject): void => {
  const resources = part(container, "resources")
  const limits = part(resources, "limits")
  if (resources === undefined || limits === undefined) return
  const requests = Json.member(resources, "requests")
  for (const name in limits) fill(requests, name, limits[name] ?? "0")
}

const fillVolume = (volume: DraftObject): void => {
  if (Object.keys(volume).every((name) => name === "name")) volume.emptyDir = {}
  for (const name of ["secret", "configMap", "downwardAPI", "projected"]) {
    const source = part(volume, name)
    if (source !== undefined) fill(source, "defaultMode", 0o644)
  }
  fillFieldRefs(part(volume, "downwardAPI"))
  for (const source of drafts(part(volume, "projected") ?? {}, "sources")) {
    fillFieldRefs(part(source, "downwardAPI"))
    const token = part(source, "serviceAccountToken")
    if (token !== undefined) fill(token, "expirationSeconds", 3600)
  }
  fillForeign(volume)
}

const fillFieldRefs = (downwardApi: DraftObject | undefined): void => {
  for (const item of drafts(downwardApi ?? {}, "items")) fillFieldRef(item)
}

/** Sets the defaults of image, hostPath and ephemeral volumes. */
const fillForeign = (volume: DraftObject): void => {
  const image = part(volume, "image")
  if (image !== undefined) fill(image, "pullPolicy", Image.pullPolicy(Json.text(image.reference) ?? ""))
  const hostPath = part(volume, "hostPath")
  if (hostPath !== undefined) fill(hostPath, "type", "")
  const claim = part(part(part(volume, "ephemeral"), "volumeClaimTemplate"), "spec")
  if (claim !== undefined) fill(claim, "volumeMode", "Filesystem")
}
