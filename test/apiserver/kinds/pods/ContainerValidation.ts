/**
 * Validation of the containers of a Pod.
 */
import * as FieldError from "../../model/FieldError.ts"
import * as Format from "../../model/Format.ts"
import type { JsonObject, Json as JsonValue } from "../../model/Json.ts"
import * as Json from "../../model/Json.ts"
import * as Check from "../Check.ts"
import type { Errors } from "../Definition.ts"
import * as Probe from "./ProbeValidation.ts"
import { fieldRef, keyRef, resourceFieldRef } from "./References.ts"
import * as Resources from "./ResourceValidation.ts"
import { descendingPath } from "./VolumeValidation.ts"

/** Yields the errors of `containers`. `mountable`: the volumes by name. */
export function* containers(field: string, spec: JsonObject, mountable: ReadonlyMap<string, JsonObject>): Errors {
  const given = Json.objects(spec.containers)
  const at = `${field}.containers`
  if (given.length === 0) return yield FieldError.required(at)
  const names = new Set<string>()
  for (const [index, container] of given.entries()) {
    yield* common(`${at}[${index}]`, container, mountable)
    yield* uniqueName(`${at}[${index}]`, container, names)
    yield* handlers(`${at}[${index}]`, container, spec)
    yield* restartPolicy(`${at}[${index}].restartPolicy`, container.restartPolicy)
  }
  yield* hostPorts(at, given)
}

/** Yields the errors of `initContainers`, sidecars included. `mountable`: the volumes by name. */
export function* initContainers(field: string, spec: JsonObject, mountable: ReadonlyMap<string, JsonObject>): Errors {
  const names = new Set(Json.objects(spec.containers).map((container) => Json.text(container.name) ?? ""))
  for (const [index, container] of Json.objects(spec.initContainers).entries()) {
    const at = `${field}.initContainers[${index}]`
    yield* common(at, container, mountable)
    yield* restartPolicy(`${at}.restartPolicy`, container.restartPolicy)
    yield* uniqueName(at, container, names)
    yield* hostPorts(`${field}.initContainers`, [container])
    if (container.restartPolicy === "Always") yield* handlers(at, container, spec)
    else {
      for (const name of ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"]) {
        if (container[name] !== undefined) {
          yield FieldError.forbidden(`${at}.${name}`, "may not be set for init containers without restartPolicy=Always")
        }
      }
    }
  }
}

function* common(field: string, container: JsonObject, mountable: ReadonlyMap<string, JsonObject>): Errors {
  yield* Check.requiredText(`${field}.name`, container.name, Format.dnsLabel)
  yield* Check.requiredText(`${field}.image`, container.image)
  yield* Check.word(`${field}.terminationMessagePolicy`, container.terminationMessagePolicy, [
    "File",
    "FallbackToLogsOnError"
  ])
  yield* ports(`${field}.ports`, Json.objects(container.ports))
  yield* variables(`${field}.env`, Json.objects(container.env))
  yield* variableSources(`${field}.envFrom`, Json.objects(container.envFrom))
  yield* mounts(`${field}.volumeMounts`, Json.objects(container.volumeMounts), mountable)
  yield* Check.word(`${field}.imagePullPolicy`, container.imagePullPolicy, ["Always", "IfNotPresent", "Never"])
  yield* Resources.requirements(`${field}.resources`, Json.object(container.resources))
  yield* securityContext(`${field}.securityContext`, Json.object(container.securityContext))
}

function* uniqueName(field: string, container: JsonObject, names: Set<string>): Errors {
  const name = Json.text(container.name) ?? ""
  if (names.has(name)) yield FieldError.duplicate(`${field}.name`, name)
  names.add(name)
}

function* handlers(field: string, container: JsonObject, spec: JsonObject): Errors {
  yield* Probe.lifecycle(`${field}.lifecycle`, Json.object(container.lifecycle), spec)
  for (const name of ["livenessProbe", "readinessProbe", "startupProbe"]) {
    const probe = container[name]
    if (!Json.isObject(probe)) continue
    yield* Probe.probe(`${field}.${name}`, probe, name !== "readinessProbe")
  }
}

function* restartPolicy(field: string, value: JsonValue | undefined): Errors {
  if (value !== undefined) yield* Check.word(field, value, ["Always", "Never", "OnFailure"])
}

function* ports(field: string, given: ReadonlyArray<JsonObject>): Errors {
  const names = new Set<string>()
  for (const [index, port] of given.entries()) {
    const at = `${field}[${index}]`
    const name = Json.text(port.name) ?? ""
    const errors = name === "" ? [] : Format.portName(name)
    for (const error of errors) yield FieldError.invalid(`${at}.name`, name, error)
    if (name !== "" && errors.length === 0) {
      if (names.has(name)) yield FieldError.duplicate(`${at}.name`, name)
      names.add(name)
    }
    const number = Json.number(port.containerPort) ?? 0
    if (number === 0) yield FieldError.required(`${at}.containerPort`)
    else yield* Check.between(`${at}.containerPort`, number, 1, 65535)
    yield* Check.between(`${at}.hostPort`, port.hostPort, 1, 65535)
    yield* Check.word(`${at}.protocol`, port.protocol, ["SCTP", "TCP", "UDP"])
  }
}

function* hostPorts(field: string, given: ReadonlyArray<JsonObject>): Errors {
  const taken = new Set<string>()
  for (const [container, { ports }] of given.entries()) {
    for (const [index, port] of Json.objects(ports).entries()) {
      if (port.hostPort === undefined) continue
      const key = `${port.protocol}/${port.hostIP ?? ""}/${port.hostPort}`
      if (taken.has(key)) yield FieldError.duplicate(`${field}[${container}].ports[${index}].hostPort`, key)
      taken.add(key)
    }
  }
}

function* variables(field: string, given: ReadonlyArray<JsonObject>): Errors {
  for (const [index, variable] of given.entries()) {
    yield* Check.requiredText(`${field}[${index}].name`, variable.name, Format.variable)
    const from = variable.valueFrom
    if (Json.isObject(from)) yield* valueFrom(`${field}[${index}].valueFrom`, from, Json.text(variable.value) ?? "")
  }
}

function* valueFrom(field: string, from: JsonObject, value: string): Errors {
  const { configMapKeyRef, fieldRef: ownField, resourceFieldRef: resource, secretKeyRef } = from
  if (Json.isObject(ownField)) yield* fieldRef(`${field}.fieldRef`, ownField, false)
  if (Json.isObject(resource)) yield* resourceFieldRef(`${field}.resourceFieldRef`, resource, false)
  if (Json.isObject(configMapKeyRef)) yield* keyRef(`${field}.configMapKeyRef`, configMapKeyRef)
  if (Json.isObject(secretKeyRef)) yield* keyRef(`${field}.secretKeyRef`, secretKeyRef)
  const sources = Object.keys(from).length
  if (sources === 0) {
    yield FieldError.invalid(
      field,
      "",
      "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
    )
  } else if (value !== "") yield FieldError.invalid(field, "", "may not be specified when `value` is not empty")
  else if (sources > 1) yield FieldError.invalid(field, "", "may not have more than one field specified at a time")
}

function* variableSources(field: string, given: ReadonlyArray<JsonObject>): Errors {
  for (const [index, source] of given.entries()) {
    const prefix = Json.text(source.prefix) ?? ""
    if (prefix !== "") yield* Check.text(`${field}[${index}].prefix`, prefix, Format.variable)
    const names = ["configMapRef", "secretRef"].filter((name) => Json.isObject(source[name]))
    for (const name of names) {
      const reference = Json.object(source[name])
      yield* Check.requiredText(`${field}[${index}].${name}.name`, reference.name, Format.prefix(Format.dnsSubdomain))
    }
    if (names.length === 0) yield FieldError.invalid(field, "", "must specify one of: `configMapRef` or `secretRef`")
    if (names.length > 1) yield FieldError.invalid(field, "", "may not have more than one field specified at a time")
  }
}

function* mounts(field: string, given: ReadonlyArray<JsonObject>, mountable: ReadonlyMap<string, JsonObject>): Errors {
  const paths = new Set<string>()
  for (const [index, mount] of given.entries()) {
    const at = `${field}[${index}]`
    const name = Json.text(mount.name) ?? ""
    const path = Json.text(mount.mountPath) ?? ""
    if (name === "") yield FieldError.required(`${at}.name`)
    if (!mountable.has(name)) yield FieldError.make("FieldValueNotFound", `${at}.name`, name)
    if (path === "") yield FieldError.required(`${at}.mountPath`)
    if (paths.has(path)) yield FieldError.invalid(`${at}.mountPath`, path, "must be unique")
    paths.add(path)
    const subPath = Json.text(mount.subPath) ?? ""
    const expression = Json.text(mount.subPathExpr) ?? ""
    if (subPath !== "") yield* descendingPath(`${field}.subPath`, subPath)
    if (expression === "") continue
    if (subPath !== "") {
      yield FieldError.invalid(`${at}.subPathExpr`, expression, "subPathExpr and subPath are mutually exclusive")
    }
    yield* descendingPath(`${field}.subPathExpr`, expression)
  }
}

function* securityContext(field: string, context: JsonObject): Errors {
  yield* Check.between(`${field}.runAsUser`, context.runAsUser, 0, 2 ** 31 - 1)
  yield* Check.between(`${field}.runAsGroup`, context.runAsGroup, 0, 2 ** 31 - 1)
  if (context.allowPrivilegeEscalation !== false) return
  if (context.privileged === true) {
    yield FieldError.invalid(field, context, "cannot set `allowPrivilegeEscalation` to false and `privileged` to true")
  }
  const added = Json.list(Json.object(context.capabilities).add)
  if (added.includes("CAP_SYS_ADMIN")) {
    const message = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"
    yield FieldError.invalid(field, context, message)
  }
}
