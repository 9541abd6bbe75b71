/** The CustomResourceDefinitions that the API server in memory needs, one for each custom kind that the program reads or writes. */
import * as Crd from "../resource/Crd.ts"
import type * as CustomResource from "../resource/CustomResource.ts"
import type { Collection } from "./Simulation.ts"

/** A CustomResourceDefinition in its wire form, with the fields in use. */
export interface Definition {
  readonly metadata: { readonly name: string; readonly annotations?: { readonly [key: string]: string } }
  readonly spec: {
    readonly conversion?: { readonly strategy?: string }
    readonly versions: ReadonlyArray<{ readonly name: string; readonly served: boolean; readonly storage: boolean }>
  }
}

const approval = "api-approved.kubernetes.io"

/**
 * A definition without its status and its conversion webhook, which a plan must not call. Without a webhook, one version has to do.
 * Undefined if the definition does not serve the version.
 */
export const plain = ({ metadata, spec }: Definition, version: string): object | undefined => {
  const wanted = spec.versions.find(({ name, served }) => name === version && served)
  if (wanted === undefined) return undefined
  const { conversion, versions, ...rest } = spec
  const approved = metadata.annotations?.[approval]
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: metadata.name, ...(approved !== undefined && { annotations: { [approval]: approved } }) },
    spec: { ...rest, versions: conversion?.strategy === "Webhook" ? [{ ...wanted, storage: true }] : versions }
  }
}

/** The definitions of the kinds of a program, by collection. */
export const own =
  (kinds: ReadonlyArray<CustomResource.Any>) =>
  ({ group, plural, version }: Collection): Crd.Crd | undefined => {
    const kind = kinds.find((each) => each.group === group && each.plural === plural && each.version === version)
    return kind && Crd.of(kind)
  }

/** A definition that accepts everything, for a kind whose definition the plan may not read. */
export const permissive = ({ group, plural, version }: Collection, kind: string, namespaced: boolean): object => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: `${plural}.${group}`, annotations: { [approval]: "unapproved, in a plan" } },
  spec: {
    group,
    names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` },
    scope: namespaced ? "Namespaced" : "Cluster",
    versions: [
      {
        name: version,
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } }
      }
    ]
  }
})
