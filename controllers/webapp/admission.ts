/**
 * The admission rules of WebApps: warnings that the API server evaluates itself, without a webhook. The CRD denies invalid values.
 */
import * as Admission from "@homeostat/runtime/webhook/Admission"
import { WebApp } from "./WebApp.ts"

const component = "[a-z0-9]+(([._]|__|-+)[a-z0-9]+)*"
const host = "([a-zA-Z0-9]([a-zA-Z0-9.-]*[a-zA-Z0-9])?|[[][0-9a-fA-F:]+[]])(:[0-9]+)?"
const tag = ":[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}"
const digest = "@[A-Za-z][A-Za-z0-9]*([-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}"
/** The grammar of github.com/distribution/reference, with which the kubelet parses images. */
const reference = `^(${host}/)?${component}(/${component})*(${tag})?(${digest})?$`

/** True for an update of other fields. */
const isSameImage = "request.operation == 'UPDATE' && object.spec.image == oldObject.spec.image"

/** A Scale omits 0. The CRD sets the default of a WebApp. */
const replicas = (object: string) => `(has(${object}.spec.replicas) ? ${object}.spec.replicas : 0)`
const [now, before] = [replicas("object"), replicas("oldObject")]

/** The image has a version, so that all pods run the same program. */
export const imageTag = {
  name: "image-tag",
  action: "Warn",
  expression: `(${isSameImage}) || object.spec.image.contains('@') || (object.spec.image.matches('^(.*/)?[^/:]+:[^/:]+$') && !object.spec.image.endsWith(':latest'))`,
  message: "spec.image: no version, so pods may run different programs (write a tag other than latest, or a digest)",
  messageExpression:
    "'spec.image: \"' + object.spec.image + '\" has no version, so pods may run different programs (write a tag other than latest, or a digest)'"
} as const

/** The kubelet can parse the image. */
export const imageName = {
  name: "image-name",
  action: "Warn",
  expression: `(${isSameImage}) || object.spec.image.matches('${reference}')`,
  message:
    "spec.image: no pod can start, because the image name is invalid (write it like registry.example.com/shop:1.2)",
  messageExpression:
    "'spec.image: \"' + object.spec.image + '\" is an invalid image name, so no pod can start (write it like registry.example.com/shop:1.2)'"
} as const

/** An update or `kubectl scale` does not multiply or divide the replicas by more than three, if that is ten pods or more. */
export const replicasJump = {
  name: "replicas-jump",
  action: "Warn",
  // A Scale has the same field. 0 stops the application, and no typing error makes it 0.
  scale: true,
  expression: `request.operation != 'UPDATE' || ${now} == 0 || ${before} == 0 || ((${now} <= 3 * ${before} || ${now} - ${before} < 10) && (3 * ${now} >= ${before} || ${before} < 10))`,
  message: "spec.replicas changes by more than a factor of three (check the number)",
  messageExpression: `'spec.replicas changes from ' + string(${before}) + ' to ' + string(${now}) + ' (check the number)'`
} as const

/** The policies of WebApps. */
export const admission = [Admission.validate(WebApp, { cel: [imageTag, imageName, replicasJump] })] as const
