/**
 * Detects whether a new CustomResourceDefinition narrows an old one. Then the server would reject a stored object or drop a part of
 * it, or a client could not read or write it as before.
 *
 * Other differences do not count: descriptions, printed columns, short names, and another default.
 */
import * as SchemaNarrowing from "./SchemaNarrowing.ts"

/** The relevant part of a CustomResourceDefinition, from `Crd.of` or from the cluster. */
export interface Definition {
  readonly spec: {
    readonly scope: string
    readonly names: { readonly kind: string }
    readonly versions: ReadonlyArray<Version>
  }
  readonly status?: { readonly storedVersions?: ReadonlyArray<string> | undefined } | undefined
}

/** A version of a kind. */
export interface Version {
  readonly name: string
  readonly served: boolean
  readonly storage: boolean
  readonly schema?: { readonly openAPIV3Schema?: object | undefined } | undefined
  readonly subresources?: { readonly status?: unknown; readonly scale?: object | undefined } | undefined
  readonly selectableFields?: ReadonlyArray<{ readonly jsonPath: string }> | undefined
}

/** One difference that narrows a definition. */
export interface Narrowing {
  /** The version of the kind; undefined for the whole kind. `v1 → v2` means that objects stored in v1 are read as v2. */
  readonly version: string | undefined
  /** The field in words: `spec.env[].name`, `spec.labels.*`, `subresource scale`, `selectable field .spec.size`, `scope`. */
  readonly field: string
  /** The text after the field: `is gone: what it holds would be pruned`. */
  readonly problem: string
  /** The API server rejects this change of an existing definition, so that an apply cannot make it. */
  readonly isRefused?: true
}

/** The differences that narrow a kind, by version. Empty: every valid object stays valid and keeps all fields. */
export const of = (from: Definition, to: Definition): ReadonlyArray<Narrowing> => [
  ...kindFindings(from, to),
  ...from.spec.versions
    .filter(({ name, served, storage }) => served || storage || isStored(from, name))
    .flatMap((version) => versionFindings(from, version, to)),
  ...storageFindings(from, to)
]

/** One line: `v1beta1 spec.color is gone: what it holds would be pruned`. */
export const describe = ({ field, problem, version }: Narrowing): string =>
  `${version === undefined ? "" : `${version} `}${field} ${problem}`

const isStored = ({ status }: Definition, version: string): boolean =>
  status?.storedVersions?.includes(version) === true

const kindFindings = ({ spec: from }: Definition, { spec: to }: Definition): ReadonlyArray<Narrowing> =>
  [
    { field: "scope", before: from.scope, after: to.scope },
    { field: "names.kind", before: from.names.kind, after: to.names.kind }
  ].flatMap(({ after, before, field }) =>
    before === after
      ? []
      : [
          {
            version: undefined,
            field,
            problem: `was ${before} and is ${after}: existing objects do not match it`,
            isRefused: true
          }
        ]
  )

const versionFindings = (from: Definition, before: Version, { spec }: Definition): ReadonlyArray<Narrowing> => {
  const after = spec.versions.find(({ name }) => name === before.name)
  const version = before.name
  if (after === undefined) {
    return before.storage || isStored(from, version)
      ? [
          {
            version,
            field: "version",
            problem: "is gone: objects that are stored in it could not be read",
            isRefused: true
          }
        ]
      : [{ version, field: "version", problem: "is gone: it would be no longer served" }]
  }
  const unserved = { version, field: "version", problem: "would be no longer served" }
  return [
    ...(before.served && !after.served ? [unserved] : []),
    ...schemaFindings(version, before, after),
    ...subresourceFindings(before, after),
    ...selectionFindings(before, after)
  ]
}

const schemaFindings = (version: string, before: Version, after: Version): ReadonlyArray<Narrowing> =>
  SchemaNarrowing.between(schemaOf(before), schemaOf(after)).map(({ field, problem }) => ({
    version,
    field: field === "" ? "the object" : field,
    problem
  }))

/** A version without a schema keeps all fields. */
const schemaOf = ({ schema }: Version): object =>
  schema?.openAPIV3Schema ?? { type: "object", "x-kubernetes-preserve-unknown-fields": true }

const subresourceFindings = (before: Version, after: Version): ReadonlyArray<Narrowing> => {
  const version = before.name
  const { scale, status } = before.subresources ?? {}
  const next = after.subresources ?? {}
  const found: Array<Narrowing> = []
  if (status !== undefined && next.status === undefined) {
    const problem = "is removed: the API server would refuse writes of the status"
    found.push({ version, field: "subresource status", problem })
  } else if (status === undefined && next.status !== undefined && hasStatus(schemaOf(before))) {
    const problem = "is new: a status that is written with the object would be dropped"
    found.push({ version, field: "subresource status", problem })
  }
  if (scale !== undefined && next.scale === undefined) {
    const problem = "is gone: kubectl scale and autoscalers would be refused"
    found.push({ version, field: "subresource scale", problem })
  } else if (scale !== undefined && !isSameScale(scale, next.scale ?? {})) {
    const problem = "has other paths: autoscalers would read and write other fields"
    found.push({ version, field: "subresource scale", problem })
  }
  return found
}

/** Whether objects may have a status as an ordinary field. */
const hasStatus = (schema: object): boolean => {
  const properties: unknown = Reflect.get(schema, "properties")
  return (
    (typeof properties === "object" && properties !== null && Object.hasOwn(properties, "status")) ||
    Reflect.get(schema, "x-kubernetes-preserve-unknown-fields") === true
  )
}

const selectionFindings = (before: Version, after: Version): ReadonlyArray<Narrowing> => {
  const paths = (after.selectableFields ?? []).map(({ jsonPath }) => jsonPath)
  return (before.selectableFields ?? []).flatMap(({ jsonPath }) =>
    paths.includes(jsonPath)
      ? []
      : [
          {
            version: before.name,
            field: `selectable field ${jsonPath}`,
            problem: "is gone: kubectl get --field-selector would be refused"
          }
        ]
  )
}

/** A new path narrows nothing. */
const isSameScale = (before: object, after: object): boolean =>
  Object.entries(before).every(([name, path]) => path === Reflect.get(after, name))

/** If the storage version changes, the new schema reads objects that were stored in the old version. */
const storageFindings = ({ spec: from }: Definition, { spec: to }: Definition): ReadonlyArray<Narrowing> => {
  const [before, after] = [from, to].map(({ versions }) => versions.find(({ storage }) => storage))
  return before === undefined || after === undefined || before.name === after.name
    ? []
    : schemaFindings(`${before.name} → ${after.name}`, before, after)
}
