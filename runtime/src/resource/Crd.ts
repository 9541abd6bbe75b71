/** The CustomResourceDefinition of a kind: the object to apply, with the same content every time. The command line prints it. */
import type { CustomResourceDefinition } from "./BuiltIn.ts"
import type * as CustomResource from "./CustomResource.ts"
import type { Desired } from "./KubernetesObject.ts"
import { nameOf } from "./Resource.ts"

/** A CustomResourceDefinition to apply. */
export type Crd = Desired<CustomResourceDefinition> & {
  readonly apiVersion: "apiextensions.k8s.io/v1"
  readonly kind: "CustomResourceDefinition"
}

/** The address of the webhook that converts between versions, in its wire form. */
export type ClientConfig = NonNullable<
  NonNullable<NonNullable<CustomResourceDefinition["spec"]["conversion"]>["webhook"]>["clientConfig"]
>

/**
 * The CRD of a custom kind. Empty optional fields are omitted.
 *
 * @param conversion the webhook that converts between the versions; without one, the CRD has only the stored version
 * @throws InvalidDefinition if a CRD cannot express the kind: see {@link CustomResource.check}
 *
 * @example
 * ```ts
 * Crd.of(Site).metadata.name // => "sites.example.com"
 * ```
 */
export const of = (resource: CustomResource.Any, conversion?: ClientConfig): Crd => {
  const { singular, listKind, shortNames, categories, spokes } = resource.definition
  const converts = conversion !== undefined && spokes.length > 0
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: nameOf(resource) },
    spec: {
      group: resource.group,
      names: {
        kind: resource.kind,
        listKind,
        plural: resource.plural,
        singular,
        ...(shortNames.length > 0 ? { shortNames } : {}),
        ...(categories.length > 0 ? { categories } : {})
      },
      scope: resource.namespaced ? "Namespaced" : "Cluster",
      versions: [version(resource, true), ...(converts ? spokes.map((spoke) => version(spoke.resource, false)) : [])],
      ...(converts
        ? {
            conversion: {
              strategy: "Webhook",
              webhook: { conversionReviewVersions: ["v1"], clientConfig: conversion }
            }
          }
        : {})
    }
  }
}

const version = ({ version, definition }: CustomResource.Any, storage: boolean) => {
  const { schema, hasStatus, columns, scale } = definition
  return {
    name: version,
    served: true,
    storage,
    schema: { openAPIV3Schema: schema },
    ...(hasStatus || scale !== undefined ? { subresources: subresources(hasStatus, scale) } : {}),
    ...(columns.length > 0 ? { additionalPrinterColumns: columns.map(printerColumn) } : {})
  }
}

const subresources = (hasStatus: boolean, scale: CustomResource.Scale | undefined) => ({
  ...(hasStatus ? { status: {} } : {}),
  ...(scale === undefined
    ? {}
    : {
        scale: {
          specReplicasPath: scale.spec,
          statusReplicasPath: scale.status,
          ...(scale.selector === undefined ? {} : { labelSelectorPath: scale.selector })
        }
      })
})

const printerColumn = ({
  name,
  type,
  format,
  description,
  priority,
  path
}: CustomResource.Definition["columns"][number]) => ({
  name,
  type,
  // The API server omits empty fields, so this CRD must do so too.
  ...(format === undefined || format === "" ? {} : { format }),
  ...(description === undefined || description === "" ? {} : { description }),
  ...(priority === undefined || priority === 0 ? {} : { priority }),
  jsonPath: path
})
