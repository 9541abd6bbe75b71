/** The environment of a container: `envFrom`, then `env`. Each value of `env` may refer to the variables before it. */

import * as Quantity from "@homeostat/apiserver/model/Quantity"
import type { Pod } from "@homeostat/runtime/resource/BuiltIn"
import * as Effect from "effect/Effect"
import * as Entries from "./Entries.ts"

/** A container of a pod. */
export type Container = NonNullable<Pod["spec"]>["containers"][number]

/** Variables by their names. */
export interface Variables {
  readonly [name: string]: string
}

/** Replaces `$(NAME)` by the value of the variable, if it exists. `$$(NAME)` stays as `$(NAME)`. */
export const expand = (text: string, env: Variables): string =>
  text.replace(/\$\$|\$\(([^()]+)\)/g, (whole, name: string | undefined) =>
    name === undefined ? "$" : Object.hasOwn(env, name) ? (env[name] ?? whole) : whole
  )

/** Returns a field of the pod by its path in the downward API. */
export const fieldOf = (pod: Pod, path: string): string | undefined => {
  const key = /^metadata\.(labels|annotations)\['(.+)'\]$/.exec(path)
  if (key?.[1] === "labels") return pod.metadata.labels?.[key[2] ?? ""] ?? ""
  if (key?.[1] === "annotations") return pod.metadata.annotations?.[key[2] ?? ""] ?? ""
  const fields: { readonly [path: string]: string | undefined } = {
    "metadata.name": pod.metadata.name,
    "metadata.namespace": pod.metadata.namespace,
    "metadata.uid": pod.metadata.uid,
    "spec.nodeName": pod.spec?.nodeName,
    "spec.serviceAccountName": pod.spec?.serviceAccountName ?? "",
    "status.hostIP": pod.status?.hostIP ?? "127.0.0.1",
    "status.podIP": pod.status?.podIP ?? ""
  }
  return fields[path]
}

const one = 1_000_000_000n

/**
 * Returns a limit or request of the container such as `limits.memory`, in whole units of `divisor`, rounded up; `undefined` if it has
 * none.
 */
export const resourceOf = ({ resources }: Container, resource: string, divisor = "0"): string | undefined => {
  const [part, name = ""] = resource.split(".", 2)
  const text = (part === "limits" ? resources?.limits : resources?.requests)?.[name]
  if (text === undefined) return undefined
  const unit = Quantity.amount(divisor) || one
  return String((Quantity.amount(text) + unit - 1n) / unit)
}

const decoder = new TextDecoder()

const named = (namespace: string, source: NonNullable<Container["envFrom"]>[number]) => {
  if (source.secretRef?.name !== undefined) {
    return Entries.secret(namespace, source.secretRef.name, source.secretRef.optional)
  }
  if (source.configMapRef?.name !== undefined) {
    return Entries.configMap(namespace, source.configMapRef.name, source.configMapRef.optional)
  }
  return Effect.succeed(new Map<string, Uint8Array>())
}

const entry = (
  kind: string,
  namespace: string,
  reference: { readonly name?: string; readonly key: string; readonly optional?: boolean },
  entries: ReadonlyMap<string, Uint8Array>
) => {
  const value = entries.get(reference.key)
  if (value !== undefined) return Effect.succeed(decoder.decode(value))
  return reference.optional === true
    ? Effect.succeed(undefined)
    : Effect.fail(
        new Entries.Missing({
          message: `couldn't find key ${reference.key} in ${kind} ${namespace}/${reference.name ?? ""}`
        })
      )
}

/** Returns all variables of a container, `everyones` first. Fails while an object that a variable needs is missing. */
export const of = (pod: Pod, container: Container, everyones: Variables = {}) =>
  Effect.gen(function* () {
    const namespace = pod.metadata.namespace ?? "default"
    const env: { [name: string]: string } = { ...everyones }
    for (const source of container.envFrom ?? []) {
      for (const [key, value] of yield* named(namespace, source))
        env[`${source.prefix ?? ""}${key}`] = decoder.decode(value)
    }
    for (const { name, value, valueFrom } of container.env ?? []) {
      const { configMapKeyRef, fieldRef, resourceFieldRef, secretKeyRef } = valueFrom ?? {}
      const found =
        secretKeyRef !== undefined
          ? yield* entry(
              "Secret",
              namespace,
              secretKeyRef,
              yield* Entries.secret(namespace, secretKeyRef.name ?? "", secretKeyRef.optional)
            )
          : configMapKeyRef !== undefined
            ? yield* entry(
                "ConfigMap",
                namespace,
                configMapKeyRef,
                yield* Entries.configMap(namespace, configMapKeyRef.name ?? "", configMapKeyRef.optional)
              )
            : fieldRef !== undefined
              ? fieldOf(pod, fieldRef.fieldPath)
              : resourceFieldRef !== undefined
                ? resourceOf(container, resourceFieldRef.resource, resourceFieldRef.divisor)
                : expand(value ?? "", env)
      if (found !== undefined) env[name] = found
    }
    return env
  })
