/**
 * `docs/backup-fields.md`, made from the schemas of the kinds, as a cluster is given them. Run, it prints the page:
 * `bun test/suites/backup/Reference.ts > docs/backup-fields.md`.
 */
import { Backup } from "@homeostat/backup/Backup"
import { Restore } from "@homeostat/backup/Restore"
import * as Crd from "@homeostat/runtime/resource/Crd"
import type * as CustomResource from "@homeostat/runtime/resource/CustomResource"

/** The page. */
export const path = "docs/backup-fields.md"

/** The command that makes it. */
export const command = `bun test/suites/backup/Reference.ts > ${path}`

/** What of an OpenAPI schema is told. */
interface Field {
  readonly description?: string
  readonly type?: string
  readonly format?: string
  readonly default?: unknown
  readonly enum?: ReadonlyArray<string>
  readonly minimum?: number
  readonly maximum?: number
  readonly properties?: { readonly [name: string]: Field }
  readonly required?: ReadonlyArray<string>
  readonly items?: Field
  readonly additionalProperties?: Field
  readonly "x-kubernetes-int-or-string"?: boolean
  readonly "x-kubernetes-validations"?: ReadonlyArray<{ readonly rule: string }>
}

const typeOf = (field: Field): string => {
  if (field["x-kubernetes-int-or-string"] === true) return "quantity"
  if (field.enum !== undefined) return field.enum.map((word) => `\`${word}\``).join(", ")
  if (field.items !== undefined)
    return `list of ${field.items.properties === undefined ? `${typeOf(field.items)}s` : "objects"}`
  if (field.additionalProperties !== undefined) return `map of ${typeOf(field.additionalProperties)}s`
  const range =
    field.minimum === undefined || field.maximum === undefined ? "" : `, ${field.minimum} to ${field.maximum}`
  return `${field.format === "date-time" ? "time" : (field.type ?? "")}${field.type === "integer" ? range : ""}`
}

const defaultOf = (field: Field, isRequired: boolean): string =>
  isRequired ? "required" : field.default === undefined ? "" : `\`${String(field.default)}\``

const isImmutable = (field: Field): boolean =>
  field["x-kubernetes-validations"]?.some(({ rule }) => rule === "self == oldSelf") === true

/** A row for a field and for each below it, in the order of the schema. */
const rows = (name: string, field: Field, isRequired: boolean): ReadonlyArray<string> => {
  const { description = "", items, properties, required = [] } = field
  const text = `${description}${isImmutable(field) ? " It cannot be changed." : ""}`.replaceAll(/[|<*]/g, "\\$&")
  const below = properties ?? items?.properties ?? {}
  const of = properties === undefined ? (items?.required ?? []) : required
  return [
    `| \`${name}\` | ${typeOf(field)} | ${defaultOf(field, isRequired)} | ${text} |`,
    ...Object.entries(below).flatMap(([key, child]) =>
      rows(`${name}${items === undefined ? "" : "[]"}.${key}`, child, of.includes(key))
    )
  ]
}

const table = (name: string, { properties = {}, required = [] }: Field, withDefaults: boolean): string =>
  [
    withDefaults ? "| Field | Type | Default | What it is |" : "| Field | Type | | What it is |",
    "| --- | --- | --- | --- |",
    ...Object.entries(properties).flatMap(([key, field]) =>
      rows(`${name}.${key}`, field, withDefaults && required.includes(key))
    )
  ].join("\n")

const section = (kind: CustomResource.Any): string => {
  // The schema is JSON, and what is read of it here is OpenAPI's.
  const schema = Crd.of(kind).spec.versions[0]?.schema?.openAPIV3Schema as Field
  const { spec = {}, status = {} } = schema.properties ?? {}
  return `## ${kind.kind}

\`${kind.group}/${kind.version}\`. ${schema.description ?? ""}

${table("spec", spec, true)}

What the controller says of it:

${table("status", status, false)}
`
}

/** The page's text. */
export const text = `# Fields of Backup and Restore

<!-- Made from controllers/backup/Backup.ts and Restore.ts by \`${command}\`. A test fails if the two differ. -->

What they are for, and how they go together, is in [backup.md](backup.md). \`kubectl explain backup.spec\` says the same of the
version that a cluster has. Rules beyond types (what a schedule or a destination looks like) are told with what to write instead when an
object is refused.

${section(Backup)}
${section(Restore)}`

if (import.meta.main) process.stdout.write(text)
