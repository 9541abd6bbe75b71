/**
 * Questions that are answered and not stored. Whoever asks may do everything, as with `--authorization-mode=AlwaysAllow`;
 * tokens are not known.
 */
import * as Failure from "../../Failure.ts"
import * as FieldError from "../../FieldError.ts"
import type { DraftObject, JsonObject } from "../../Json.ts"
import * as Json from "../../Json.ts"
import type { Writing } from "../../Kind.ts"
import { type Definition, type Errors, strategy } from "../Definition.ts"

const allow = (draft: DraftObject): void => {
  draft.status = { allowed: true }
}

function* asked(spec: JsonObject): Errors {
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
  yield* asked(spec)
}

const group = "authorization.k8s.io"

const ofAuthorization = (
  kind: string,
  answer: (draft: DraftObject, writing: Writing) => void,
  mistakes: (spec: JsonObject) => Errors
): Definition => ({
  group,
  version: "v1",
  kind,
  strategy: strategy({
    shape: `authorization.${kind}`,
    prepareForCreate: answer,
    // A kube-apiserver does not know the kind any more when it says that a question is wrong.
    validate: (object) => {
      const errors = [...mistakes(Json.object(object.spec))]
      if (errors.length > 0) throw Failure.invalid({ group, kind: "", plural: "" }, "", errors)
      return []
    }
  })
})

const everything = {
  resourceRules: [{ verbs: ["*"], apiGroups: ["*"], resources: ["*"] }],
  nonResourceRules: [{ verbs: ["*"], nonResourceURLs: ["*"] }],
  incomplete: false
}

/** The kinds. */
export const reviews: ReadonlyArray<Definition> = [
  ofAuthorization("SelfSubjectAccessReview", allow, asked),
  ofAuthorization("SubjectAccessReview", allow, askedOf),
  ofAuthorization("LocalSubjectAccessReview", allow, askedOf),
  ofAuthorization(
    "SelfSubjectRulesReview",
    (draft) => {
      draft.status = Json.copy(everything)
    },
    () => []
  ),
  {
    group: "authentication.k8s.io",
    version: "v1",
    kind: "SelfSubjectReview",
    strategy: strategy({
      shape: "authentication.SelfSubjectReview",
      prepareForCreate: (draft, { user }) => {
        draft.status = { userInfo: { username: user.name, groups: [...user.groups] } }
      }
    })
  },
  {
    group: "authentication.k8s.io",
    version: "v1",
    kind: "TokenReview",
    strategy: strategy({
      shape: "authentication.TokenReview",
      prepareForCreate: (draft) => {
        draft.status = { user: {}, error: "invalid bearer token" }
      },
      validate: (object) => {
        if ((Json.text(Json.at(object, "spec", "token")) ?? "") !== "") return []
        throw Failure.badRequest("token is required for TokenReview in authentication")
      }
    })
  }
]
