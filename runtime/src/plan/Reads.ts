/**
 * The permissions to read that a plan needs, from those that the controllers declare. A plan lists what a cache follows, and reads each
 * object that it writes in memory: a cache with a selector need not have it. It never watches, and it writes no Event.
 */
import * as Access from "../controller/Access.ts"
import type { Controller } from "../controller/Controller.ts"
import * as BuiltIn from "../resource/BuiltIn.ts"
import * as ReadOnly from "./ReadOnly.ts"

/** The parts of a controller that permissions depend on. */
export type Declared = Pick<Controller<unknown>, "name" | "resource" | "access">

/** The groups whose kinds have no CustomResourceDefinition. */
const builtIn: ReadonlySet<string> = new Set(
  Object.values(BuiltIn).flatMap((kind) => (typeof kind === "object" && "group" in kind ? [kind.group] : []))
)

const isEvent = ({ group, plural }: Access.Target): boolean =>
  plural === "events" && (group === "" || group === "events.k8s.io")

/** The subresources whose answer comes from the object in memory. */
const simulated = new Set([undefined, "status", "scale"])

const ofVerb = ({ names, namespace, resource, selected, subresource }: Access.Access, verb: Access.Verb) =>
  readsOf({ names, namespace, resource, subresource }, verb).map(
    (access): Access.Access => (selected === undefined ? access : { ...access, selected })
  )

const readsOf = ({ names, namespace, resource, subresource }: Omit<Access.Access, "verbs">, verb: Access.Verb) => {
  const at = { names, namespace }
  switch (verb) {
    case "get":
      return [Access.get(resource, simulated.has(subresource) ? at : { ...at, subresource })]
    case "list":
    case "watch":
    case "deletecollection":
      return [Access.list(resource, at)]
    case "create":
    case "update":
    case "patch":
    case "delete": {
      if (isEvent(resource)) return []
      const path = `/apis/${resource.group}/v1/${resource.plural}`
      // A review is a question, which the API server of the cluster answers.
      return ReadOnly.isReview({ method: "POST", path }) ? [Access.create(resource, at)] : [Access.get(resource, at)]
    }
    default:
      return []
  }
}

/** The definitions of the custom kinds, and the namespaces that receive objects. */
const ofCluster = (access: ReadonlyArray<Access.Access>, namespaces: ReadonlyArray<string>) => {
  const custom = access.flatMap(({ resource: { group, plural } }) =>
    group === "" || builtIn.has(group) ? [] : [`${plural}.${group}`]
  )
  const creates = access.some(
    ({ resource, subresource, verbs }) =>
      resource.namespaced && subresource === undefined && verbs.includes("create") && !isEvent(resource)
  )
  return [
    ...(custom.length === 0 ? [] : [Access.get(BuiltIn.CustomResourceDefinition, { names: [...new Set(custom)] })]),
    ...(creates ? [Access.get(BuiltIn.Namespace, { names: namespaces })] : [])
  ]
}

/** The controllers with the access of a plan in place of their own. `namespaces` are those of the plan; none means all. */
export const of = (controllers: ReadonlyArray<Declared>, namespaces: ReadonlyArray<string>): ReadonlyArray<Declared> =>
  controllers.map(({ access, name, resource }) => ({
    name,
    resource,
    access: [
      ...access.flatMap((each) => each.verbs.flatMap((verb) => ofVerb(each, verb))),
      ...ofCluster(access, namespaces)
    ]
  }))
