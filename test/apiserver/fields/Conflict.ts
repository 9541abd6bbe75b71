/**
 * The conflicts of an apply: the fields that it would change and that other managers own.
 */
import { Failure } from "../model/Failure.ts"
import * as FieldSet from "./FieldSet.ts"
import type { Manager } from "./Managers.ts"

/** A field and the manager that would lose it. */
export interface Conflict {
  readonly manager: Manager
  readonly path: FieldSet.Path
}

/** The error (409) of an apply that conflicts with other managers. It lists all conflicts. */
export const failure = (conflicts: ReadonlyArray<Conflict>): Failure =>
  new Failure({
    code: 409,
    reason: "Conflict",
    message: `Apply failed with ${conflicts.length} conflict${conflicts.length === 1 ? "" : "s"}: ${listed(conflicts)}`,
    details: {
      causes: conflicts.map(({ manager, path }) => ({
        reason: "FieldManagerConflict",
        message: `conflict with ${shownManager(manager)}`,
        field: FieldSet.shown(path)
      }))
    }
  })

const listed = (conflicts: ReadonlyArray<Conflict>): string => {
  const [first, ...others] = conflicts
  if (first === undefined) return ""
  if (others.length === 0) return `conflict with ${shownManager(first.manager)}: ${FieldSet.shown(first.path)}`
  const managers = [...new Set(conflicts.map(({ manager }) => manager))]
  return managers
    .flatMap((one) => [
      `conflicts with ${shownManager(one)}:`,
      ...conflicts.filter(({ manager }) => manager === one).map(({ path }) => `- ${FieldSet.shown(path)}`)
    ])
    .join("\n")
}

const shownManager = ({ apiVersion, name, operation, subresource }: Manager): string =>
  [
    JSON.stringify(name),
    ...(subresource === undefined ? [] : [`with subresource ${JSON.stringify(subresource)}`]),
    ...(operation === "Update" ? [`using ${apiVersion}`] : [])
  ].join(" ")
