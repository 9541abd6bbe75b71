/** The pages of the kinds' fields, from the schemas as a cluster is given them. */
import * as Kinds from "@homeostat/runtime/command/Kinds"
import * as Crd from "@homeostat/runtime/resource/Crd"
import type * as CustomResource from "@homeostat/runtime/resource/CustomResource"
import { program } from "../../controllers/main.ts"
import type { Page } from "./Page.ts"

/** The parts of an OpenAPI schema on a page. */
export interface Field {
  readonly description?: string
  readonly type?: string
  readonly format?: string
  readonly pattern?: string
  readonly default?: unknown
  readonly enum?: ReadonlyArray<string>
  readonly minimum?: number
  readonly maximum?: number
  readonly properties?: { readonly [name: string]: Field }
  readonly required?: ReadonlyArray<string>
  readonly items?: Field
  readonly additionalProperties?: Field
  readonly "x-kubernetes-int-or-string"?: boolean
  readonly "x-kubernetes-validations"?: ReadonlyArray<{
    readonly rule: string
    readonly message?: string
    readonly fieldPath?: string
  }>
}

/** Its type in words; of several as of one. */
const typeOf = (field: Field, many = false): string => {
  const ending = many ? "s" : ""
  if (field["x-kubernetes-int-or-string"] === true) {
    if (field.pattern === undefined) return `integer${ending} or string${ending}`
    return many ? "quantities" : "quantity"
  }
  if (field.enum !== undefined) return field.enum.map((word) => `\`${word}\``).join(", ")
  if (field.items !== undefined) return `list${ending} of ${typeOf(field.items, true)}`
  if (field.additionalProperties !== undefined) return `map${ending} of ${typeOf(field.additionalProperties, true)}`
  if (field.type === undefined) return "anything"
  const range =
    field.type !== "integer" || field.minimum === undefined || field.maximum === undefined
      ? ""
      : `, ${field.minimum} to ${field.maximum}`
  return `${field.format === "date-time" ? "time" : field.type}${ending}${range}`
}

const defaultOf = (field: Field, isRequired: boolean): string => {
  if (isRequired || field.default === undefined) return isRequired ? "required" : ""
  const text = typeof field.default === "string" ? field.default : JSON.stringify(field.default)
  return `\`${text.replaceAll("|", "\\|")}\``
}

const isImmutable = (field: Field): boolean =>
  field["x-kubernetes-validations"]?.some(({ rule }) => rule === "self == oldSelf") === true

/** The innermost entry of lists and maps, and its path. */
const entriesOf = (name: string, field: Field): readonly [name: string, field: Field] => {
  if (field.items !== undefined) return entriesOf(`${name}[]`, field.items)
  if (field.additionalProperties !== undefined) return entriesOf(`${name}.*`, field.additionalProperties)
  return [name, field]
}

/** A row for a field and for each below it, in the order of the schema. */
const rows = (name: string, field: Field, isRequired: boolean): ReadonlyArray<string> => {
  const { description = "" } = field
  const text = `${description}${isImmutable(field) ? " It cannot be changed." : ""}`.replaceAll(/[|<*]/g, "\\$&")
  const [path, { properties = {}, required = [] }] = entriesOf(name, field)
  return [
    `| \`${name}\` | ${typeOf(field)} | ${defaultOf(field, isRequired)} | ${text} |`,
    ...Object.entries(properties).flatMap(([key, child]) => rows(`${path}.${key}`, child, required.includes(key)))
  ]
}

/**
 * The fields of an object as a table.
 *
 * @param name the path to it, such as `spec`
 * @param withDefaults also says which fields are required, and what others are if they are left out
 */
export const table = (name: string, { properties = {}, required = [] }: Field, withDefaults: boolean): string =>
  [
    withDefaults ? "| Field | Type | Default | Description |" : "| Field | Type | | Description |",
    "| --- | --- | --- | --- |",
    ...Object.entries(properties).flatMap(([key, field]) =>
      rows(`${name}.${key}`, field, withDefaults && required.includes(key))
    )
  ].join("\n")

/** The guide of a kind. */
const guides: { readonly [kind: string]: string } = { Backup: "backup.md", Restore: "backup.md" }

/** The validation rules of a field and of those below it, with the messages of the API server. */
const rulesOf = (path: string, field: Field): ReadonlyArray<string> => {
  const { additionalProperties, items, properties = {} } = field
  return [
    ...(field["x-kubernetes-validations"] ?? []).flatMap(({ fieldPath = "", message }) =>
      message === undefined || message === immutable ? [] : [`- ${codeOf(`${path}${fieldPath}`)}: ${message}`]
    ),
    ...Object.entries(properties).flatMap(([key, child]) => rulesOf(`${path}.${key}`, child)),
    ...(items === undefined ? [] : rulesOf(`${path}[]`, items)),
    ...(additionalProperties === undefined ? [] : rulesOf(`${path}.*`, additionalProperties))
  ]
}

/** The message of a field whose row says that it is immutable. */
const immutable = "is immutable"

const codeOf = (path: string): string => (path === "" ? "The object" : `\`${path.replace(/^\./, "")}\``)

const section = (title: string, ...lines: ReadonlyArray<string>): ReadonlyArray<string> =>
  lines.length === 0 ? [] : [`## ${title}`, lines.join("\n")]

const columnTable = (columns: ReadonlyArray<{ readonly name: string; readonly jsonPath: string }>): string =>
  ["| Column | Field |", "| --- | --- |", ...columns.map(({ jsonPath, name }) => `| ${name} | \`${jsonPath}\` |`)].join(
    "\n"
  )

const render = (kind: CustomResource.Any): Page => {
  const { spec: definition } = Crd.of(kind)
  const [version] = definition.versions
  // The schema is JSON.
  const schema = version?.schema?.openAPIV3Schema as Field
  const { spec = {}, status = {} } = schema.properties ?? {}
  const columns = version?.additionalPrinterColumns ?? []
  const name = kind.kind.toLowerCase()
  const guide = guides[kind.kind]
  const { names, scope } = definition
  const called = [names.plural, ...(names.shortNames ?? [])].map((word) => `\`${word}\``).join(" or ")
  const parts = [
    `# ${kind.kind}`,
    "<!-- Made from the kind's schemas by `bun run generate`. A test fails if the two differ. -->",
    schema.description ?? "",
    `\`apiVersion: ${kind.group}/${kind.version}\`, ${called} to kubectl, ${
      scope === "Namespaced" ? "in a namespace" : "cluster-wide"
    }. \`kubectl explain ${name}.spec\` shows the version of your cluster.${
      guide === undefined ? "" : ` [${guide}](../${guide}) explains its use.`
    }`,
    ...section("Spec", table("spec", spec, true)),
    ...section("Rules", ...rulesOf("", { ...schema, properties: {} }), ...rulesOf("spec", spec)),
    ...section("Status", "The controller writes these fields.", "", table("status", status, false)),
    ...(columns.length === 0 ? [] : ["## Columns", "`kubectl get` shows these columns.", columnTable(columns)])
  ]
  return { path: `docs/reference/${name}.md`, text: `${parts.filter((part) => part !== "").join("\n\n")}\n` }
}

const kinds = Kinds.of(program)

/** A page for each kind that the program's controllers are for. */
export const pages: ReadonlyArray<Page> = kinds.map(render)

/** The kinds as a list for the page of contents. */
export const contents: string = kinds
  .map(
    ({ definition: { schema }, kind }) =>
      `- [${kind}](${kind.toLowerCase()}.md): ${String("description" in schema ? schema.description : "")}`
  )
  .join("\n")
