/**
 * Reviews of users and their permissions. The server answers them in the response to a create and does not store them.
 */
import * as AccessReview from "../../access/AccessReview.ts"
import * as TokenReview from "../../access/TokenReview.ts"
import * as Failure from "../../model/Failure.ts"
import * as FieldError from "../../model/FieldError.ts"
import type { JsonObject } from "../../model/Json.ts"
import * as Json from "../../model/Json.ts"
import type { Writing } from "../../model/Kind.ts"
import { timestamp } from "../../model/Timestamp.ts"
import * as User from "../../model/User.ts"
import { type Definition, type Errors, strategy } from "../Definition.ts"

function* validateSpec(spec: JsonObject): Errors {
  const { nonResourceAttributes, resourceAttributes } = spec
  if (resourceAttributes !== undefined && nonResourceAttributes !== undefined) {
    yield FieldError.invalid(
      "spec.nonResourceAttributes",
      nonResourceAttributes,
      "cannot be specified in combination with resourceAttributes"
    )
  }
  if (resourceAttributes === undefined && nonResourceAttributes === undefined) {
    yield FieldError.invalid(
      "spec",
      null,
      "exactly one of nonResourceAttributes or resourceAttributes must be specified"
    )
  }
}

function* askedOf(spec: JsonObject): Errors {
  if ((Json.text(spec.user) ?? "") === "" && Json.list(spec.groups).length === 0) {
    yield FieldError.invalid("spec.user", spec.user ?? "", "at least one of user or group must be specified")
  }
  yield* validateSpec(spec)
}

const group = "authorization.k8s.io"

/** The definition of an access review of one request. `userOf` returns the user whose permissions the server checks. */
const ofAccess = (
  kind: string,
  userOf: (spec: JsonObject, writing: Writing) => User.User,
  validate: (spec: JsonObject, object: JsonObject) => Errors
): Definition => ({
  group,
  version: "v1",
  kind,
  strategy: strategy({
    shape: `authorization/v1.${kind}`,
    prepareForCreate: (draft, writing) => {
      // If validation rejects the review, the client does not get this status.
      const spec = Json.object(draft.spec)
      draft.status = AccessReview.status(spec, userOf(spec, writing), writing.authorizer)
    },
    // The error of a kube-apiserver omits the kind.
    validate: (object) => {
      const errors = [...validate(Json.object(object.spec), object)]
      if (errors.length > 0) throw Failure.invalid({ group, kind: "", plural: "" }, "", errors)
      return []
    }
  })
})

const self = (_: JsonObject, { user }: Writing): User.User => user

const named = ({ extra, groups, uid, user }: JsonObject): User.User => ({
  name: Json.text(user) ?? "",
  groups: Json.list(groups).filter((item): item is string => typeof item === "string"),
  uid: Json.text(uid),
  extra: Json.isObject(extra) ? (extra as User.User["extra"]) : undefined
})

function* askedLocally(spec: JsonObject, object: JsonObject): Errors {
  const { nonResourceAttributes, resourceAttributes } = spec
  const errors = [...askedOf(spec)]
  if (errors.length > 0) {
    yield* errors
    return
  }
  if (nonResourceAttributes !== undefined) {
    const { path, verb } = Json.object(nonResourceAttributes)
    const value = { Path: path ?? "", Verb: verb ?? "" }
    yield FieldError.invalid("spec.nonResourceAttributes", value, "disallowed on this kind of request")
    return
  }
  const namespace = Json.at(resourceAttributes, "namespace") ?? ""
  if (namespace !== (Json.at(object, "metadata", "namespace") ?? "")) {
    yield FieldError.invalid("spec.resourceAttributes.namespace", namespace, "must match metadata.namespace")
  }
}

/** The definitions of all reviews. */
export const reviews: ReadonlyArray<Definition> = [
  ofAccess("SelfSubjectAccessReview", self, validateSpec),
  ofAccess("SubjectAccessReview", named, askedOf),
  ofAccess("LocalSubjectAccessReview", named, askedLocally),
  {
    group,
    version: "v1",
    kind: "SelfSubjectRulesReview",
    strategy: strategy({
      shape: "authorization/v1.SelfSubjectRulesReview",
      prepareForCreate: (draft, { authorizer, user }) => {
        const namespace = Json.text(Json.at(draft, "spec", "namespace")) ?? ""
        if (namespace === "") throw Failure.badRequest("no namespace on request")
        draft.metadata = {}
        draft.spec = {}
        draft.status = AccessReview.rules(user, namespace, authorizer)
      }
    })
  },
  {
    group: "authentication.k8s.io",
    version: "v1",
    kind: "SelfSubjectReview",
    strategy: strategy({
      shape: "authentication/v1.SelfSubjectReview",
      prepareForCreate: (draft, { now, user }) => {
        draft.metadata = { creationTimestamp: timestamp(now) }
        draft.status = { userInfo: User.infoOf(user) }
      }
    })
  },
  {
    group: "authentication.k8s.io",
    version: "v1",
    kind: "TokenReview",
    strategy: strategy({
      shape: "authentication/v1.TokenReview",
      prepareForCreate: (draft, { authentication, now }) => {
        const { audiences, token } = Json.object(draft.spec)
        const requested = Json.list(audiences).filter((item): item is string => typeof item === "string")
        draft.status = TokenReview.status(Json.text(token) ?? "", requested, authentication, now)
      },
      validate: (object) => {
        if ((Json.text(Json.at(object, "spec", "token")) ?? "") !== "") return []
        throw Failure.badRequest("token is required for TokenReview in authentication")
      }
    })
  }
]
