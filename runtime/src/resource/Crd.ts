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

/**
 * The CRD of a custom kind, with its one declared version. Empty optional fields are omitted.
 *
 * @throws InvalidDefinition if a CRD cannot express the kind: see {@link CustomResource.check}
 *
 * @example
 * ```ts
 * Crd.of(Site).metadata.name // => "sites.example.com"
 * ```
 */
export const of = (resource: CustomResource.Any): Crd => {
  const { singular, listKind, shortNames, categories, schema, hasStatus, columns, scale } = resource.definition
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
      versions: [
        {
          name: resource.version,
          served: true,
          storage: true,
          schema: { openAPIV3Schema: schema },
          ...(hasStatus || scale !== undefined ? { subresources: subresources(hasStatus, scale) } : {}),
          ...(columns.length > 0 ? { additionalPrinterColumns: columns.map(printerColumn) } : {})
        }
      ]
    }
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
