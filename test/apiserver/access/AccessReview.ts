/** The responses to SubjectAccessReviews and SelfSubjectRulesReviews. */

import type { AccessRequest, Authorizer } from "../model/Authorizer.ts"
import type { DraftObject, JsonObject } from "../model/Json.ts"
import * as J from "../model/Json.ts"
import type { User } from "../model/User.ts"
import { aggregate } from "./RbacAuthorizer.ts"

/** The status of a review of a request by the user. */
export const status = (spec: JsonObject, user: User, authorizer: Authorizer | undefined): DraftObject => {
  if (authorizer === undefined) return { allowed: true }
  const { allowed, reason } = authorizer.authorize(requestOf(spec, user))
  const errors = ["fieldSelector", "labelSelector"]
    .filter((selector) => isMalformed(J.at(spec, "resourceAttributes", selector)))
    .map((selector) => `spec.resourceAttributes.${selector} ignored due to parse error`)
  return {
    allowed,
    ...(reason !== "" && { reason }),
    ...(errors.length > 0 && { evaluationError: errors.length === 1 ? errors[0] : `[${errors.join(", ")}]` })
  }
}

const requestOf = ({ nonResourceAttributes, resourceAttributes }: JsonObject, user: User): AccessRequest => {
  const textOf = (object: unknown, field: string) => J.text(J.at(object as JsonObject, field)) ?? ""
  if (resourceAttributes === undefined) {
    return {
      user,
      verb: textOf(nonResourceAttributes, "verb"),
      resource: undefined,
      path: textOf(nonResourceAttributes, "path")
    }
  }
  return {
    user,
    verb: textOf(resourceAttributes, "verb"),
    resource: {
      group: textOf(resourceAttributes, "group"),
      resource: textOf(resourceAttributes, "resource"),
      subresource: textOf(resourceAttributes, "subresource"),
      namespace: textOf(resourceAttributes, "namespace"),
      name: textOf(resourceAttributes, "name")
    },
    path: ""
  }
}

const operators: ReadonlySet<unknown> = new Set(["In", "NotIn", "Exists", "DoesNotExist"])

const isMalformed = (selector: JsonObject[string]): boolean =>
  J.objects(J.at(selector, "requirements")).some(({ operator }) => !operators.has(operator))

/** The status of a review of all rules of the user in a namespace. */
export const rules = (user: User, namespace: string, authorizer: Authorizer | undefined): DraftObject => {
  const { grants, missing } = authorizer?.grantsOf(user, namespace) ?? { grants: [], missing: [] }
  const all = grants.flatMap((grant) => grant.rules)
  return {
    resourceRules: all
      .filter(({ resources }) => resources.length > 0)
      .map(({ apiGroups, resourceNames, resources, verbs }) => ({
        verbs: [...verbs],
        apiGroups: [...apiGroups],
        resources: [...resources],
        ...(resourceNames.length > 0 && { resourceNames: [...resourceNames] })
      })),
    nonResourceRules: all
      .filter(({ nonResourceURLs }) => nonResourceURLs.length > 0)
      .map(({ nonResourceURLs, verbs }) => ({ verbs: [...verbs], nonResourceURLs: [...nonResourceURLs] })),
    incomplete: false,
    ...(missing.length > 0 && { evaluationError: aggregate(missing) })
  }
}
